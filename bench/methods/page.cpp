// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
#include <algorithm>
#include <cstdio>
#include <string>

#include "runs.hpp"

namespace tensorsmith::bench {
namespace {

using Json = nlohmann::ordered_json;

template <class... Values>
std::string format(const char* form, Values... values) {
  char text[512];
  std::snprintf(text, sizeof(text), form, values...);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

constexpr const char* colours[] = {"#1f6fb4", "#d1495b", "#2e8b57", "#b8860b",
                                   "#6a4c93", "#444444", "#008b8b", "#a0522d"};
const char* colour_of(std::size_t method) { return colours[method % std::size(colours)]; }

std::string sign_text(const SignTest& test) {
  return format("%zu won, %zu lost, %zu alike (p %.2g)", test.num_wins, test.num_losses,
                test.num_ties, test.chance());
}

/// `1200, 1400, never; 0.31`: a seed that never came there counts as the first method's time.
std::string network_text(const MethodSummary& summary) {
  std::string text;
  std::vector<double> shares;
  for (std::size_t i = 0; i < summary.first_seconds.size(); ++i) {
    const double first = summary.first_seconds[i], until = summary.seconds_until_first[i];
    text += format("%s%s", i == 0 ? "" : ", ", until < math::infinity ? "" : "never");
    text += until < math::infinity ? format("%.0f", until) : "";
    shares.push_back(std::min(until, first) / first);
  }
  return text + format("; %.2f", geometric_mean(shares));
}

std::vector<std::string> columns() {
  std::vector<std::string> names{"method", "quality", "in equal time", "own share"};
  for (const double share : reached_shares) {
    names.push_back(format("at %.0f %%: runs, times faster, times fewer trials", 100 * share));
  }
  names.push_back("until the first's network: seconds by seed, of the first's time");
  names.push_back("equal trials");
  names.push_back("equal seconds");
  return names;
}

std::vector<std::string> row_of(const Method& method, const MethodSummary& summary) {
  std::vector<std::string> row{method.name, format("%.3f", summary.quality),
                               format("%.3f", summary.quality_seconds),
                               format("%.0f %%", 100 * summary.own_share)};
  for (const MethodSummary::Reached& reached : summary.reached) {
    row.push_back(reached.num_pairs == 0 ? format("%zu", reached.num_runs)
                                         : format("%zu, %.2f, %.2f", reached.num_runs,
                                                  reached.speedup_seconds, reached.speedup_trials));
  }
  row.push_back(network_text(summary));
  row.push_back(sign_text(summary.equal_trials));
  row.push_back(sign_text(summary.equal_seconds));
  return row;
}

/// The curves of one task: share of the best by what is spent, on a logarithmic axis.
std::string plot_of(const std::vector<Method>& methods, std::size_t task,
                    const std::vector<MethodRun>& runs) {
  constexpr double width = 520, height = 220, left = 44, bottom = 24;
  double best = 0, most = 1, least = 1e300;
  for (const MethodRun& run : runs) {
    if (run.task == task && run.best_ns > 0) {
      best = best <= 0 ? run.best_ns : std::min(best, run.best_ns);
      most = std::max(most, run.seconds);
      least = std::min(least, run.by_seconds.front().spent);
    }
  }
  if (best <= 0) {
    return "<p>nothing was found</p>\n";
  }
  least = std::max(least, 1e-3);
  const double span = std::max(math::log2(most / least), 1e-9);
  const auto x_of = [&](double spent) {
    return left + (width - left - 8) * math::log2(std::max(spent, least) / least) / span;
  };
  const auto y_of = [&](double share) { return 8 + (height - bottom - 8) * (1 - share); };
  std::string svg =
      format("<svg width=\"%.0f\" height=\"%.0f\" font-size=\"11\">\n", width, height);
  for (const double share : {0.0, 0.5, 0.9, 1.0}) {
    svg += format("<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/><text x=\"2\" y=\"%.1f\">%.0f "
                  "%%</text>\n",
                  left, y_of(share), width - 8, y_of(share) + 4, 100 * share);
  }
  for (double spent = least; spent <= most * 1.0001; spent *= most / least > 16 ? 4 : 2) {
    svg += format("<text x=\"%.1f\" y=\"%.1f\">%.3g s</text>\n", x_of(spent), height - 6, spent);
  }
  for (const MethodRun& run : runs) {
    if (run.task != task || run.by_seconds.empty()) {
      continue;
    }
    std::string path;
    double share = 0;
    for (const SpentPoint& point : run.by_seconds) {
      path += format("%s%.1f %.1f", path.empty() ? "M" : "L", x_of(point.spent), y_of(share));
      share = point.best_ns > 0 ? best / point.best_ns : 0;
      path += format("L%.1f %.1f", x_of(point.spent), y_of(share));
    }
    path += format("L%.1f %.1f", x_of(run.seconds), y_of(share));
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour_of(run.method) +
           "\"><title>" + escaped(methods[run.method].name) + "</title></path>\n";
  }
  return svg + "</svg>\n";
}

Json sign_json(const SignTest& test) {
  return {{"won", test.num_wins},
          {"lost", test.num_losses},
          {"alike", test.num_ties},
          {"p", test.chance()}};
}

}  // namespace

nlohmann::ordered_json methods_json(const std::vector<Method>& methods,
                                    const std::vector<BenchTask>& tasks,
                                    const std::vector<MethodRun>& runs,
                                    const std::vector<MethodSummary>& summaries) {
  Json json;
  json["tasks"] = Json::array();
  for (const BenchTask& task : tasks) {
    json["tasks"].push_back({{"workload", task.workload}, {"weight", task.weight}});
  }
  json["methods"] = Json::array();
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const MethodSummary& summary = summaries[m];
    Json reached = Json::array();
    for (std::size_t s = 0; s < 3; ++s) {
      reached.push_back({{"share", reached_shares[s]},
                         {"runs", summary.reached[s].num_runs},
                         {"pairs", summary.reached[s].num_pairs},
                         {"speedup_seconds", summary.reached[s].speedup_seconds},
                         {"speedup_trials", summary.reached[s].speedup_trials}});
    }
    Json until = Json::array();
    for (const double seconds : summary.seconds_until_first) {
      until.push_back(seconds < math::infinity ? Json(seconds) : Json(nullptr));
    }
    json["methods"].push_back({{"name", methods[m].name},
                               {"policy", methods[m].policy},
                               {"space", methods[m].space},
                               {"cost_model", methods[m].cost_model},
                               {"draft", methods[m].draft},
                               {"quality", summary.quality},
                               {"quality_equal_seconds", summary.quality_seconds},
                               {"trials_per_second", summary.trials_per_second},
                               {"own_share", summary.own_share},
                               {"reached", reached},
                               {"network_seconds_of_first", summary.first_seconds},
                               {"network_seconds_until_first", until},
                               {"equal_trials", sign_json(summary.equal_trials)},
                               {"equal_seconds", sign_json(summary.equal_seconds)}});
  }
  json["runs"] = Json::array();
  for (const MethodRun& run : runs) {
    Json one = {{"method", methods[run.method].name}, {"task", run.task}};
    one.update(run_json(run));
    json["runs"].push_back(std::move(one));
  }
  return json;
}

std::string methods_table(const std::vector<Method>& methods,
                          const std::vector<MethodSummary>& summaries) {
  std::string text, rule;
  for (const std::string& name : columns()) {
    text += "| " + name + " ";
    rule += "|---";
  }
  text += "|\n" + rule + "|\n";
  for (std::size_t m = 0; m < methods.size(); ++m) {
    for (const std::string& cell : row_of(methods[m], summaries[m])) {
      text += "| " + cell + " ";
    }
    text += "|\n";
  }
  return text;
}

std::string methods_page(const std::string& title, const std::vector<Method>& methods,
                         const std::vector<BenchTask>& tasks, const std::vector<MethodRun>& runs,
                         const std::vector<MethodSummary>& summaries) {
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                     escaped(title) +
                     "</title><style>body{font-family:sans-serif;margin:2em}td,th{border:1px solid "
                     "#ccc;padding:3px 7px}table{border-collapse:collapse}</style></head><body>\n"
                     "<h1>" +
                     escaped(title) + "</h1>\n<table><tr>";
  for (const std::string& name : columns()) {
    page += "<th>" + escaped(name) + "</th>";
  }
  page += "</tr>\n";
  for (std::size_t m = 0; m < methods.size(); ++m) {
    page += "<tr>";
    for (const std::string& cell : row_of(methods[m], summaries[m])) {
      page += "<td>" + escaped(cell) + "</td>";
    }
    page += "</tr>\n";
  }
  page +=
      "</table>\n<p>Quality: geometric mean of the best time of all methods by its own. In equal "
      "time: after the seconds of the method that was done first. The rest beside " +
      escaped(methods[0].name) + ".</p>\n<p>";
  for (std::size_t m = 0; m < methods.size(); ++m) {
    page += std::string("<b style=\"color:") + colour_of(m) + "\">" + escaped(methods[m].name) +
            "</b> ";
  }
  page += "</p>\n";
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    page += "<h3>" + escaped(tasks[task].workload.substr(0, 120)) + "</h3>\n" +
            plot_of(methods, task, runs);
  }
  return page + "</body></html>\n";
}

}  // namespace tensorsmith::bench
