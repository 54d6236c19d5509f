// SPDX-License-Identifier: Apache-2.0
// requires: json
// bench_page: the tables of docs/performance.md and its folder from files that bench_kernels wrote.
//
//   bench_page PAGE.md RESULT.json...           one table of all machines and suites in PAGE.md,
//   all
//                                               figures of a machine in PAGE/results-MACHINE.md
//   bench_page --check PAGE.md RESULT.json...   exit code 1 if one of them would change
// One of the files may hold what other tuners reached (bench/results/recorded-tuners.json).
// What stands outside of the marks of a page is written by hand.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/marked_page.hpp"
#include "bench/support/paired.hpp"

namespace {

using Json = nlohmann::ordered_json;

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// The peer with the smallest ratio: who is fastest.
std::string best_peer(const Json& peers) {
  std::string best;
  for (const auto& [name, peer] : peers.items()) {
    if (best.empty() || peer["ratio"].get<double>() < peers[best]["ratio"].get<double>()) {
      best = name;
    }
  }
  return best;
}

std::string row(const Json& entry) {
  std::string text = "| `" + entry["workload"].get<std::string>() + "` | " +
                     entry["class"].get<std::string>() + " | ";
  if (!entry["ours_gflops"].is_number()) {
    return text + "no kernel | | | | |\n";
  }
  text += number(entry["ours_gflops"].get<double>(), 1) + " | " +
          number(100 * entry["peak_fraction"].get<double>(), 0) + " % | ";
  const std::string best = best_peer(entry["peers"]);
  if (best.empty()) {
    text += "none | | ";
  } else {
    const Json& peer = entry["peers"][best];
    text += best + ", `" + peer["impl"].get<std::string>() + "` | " +
            number(peer["ratio"].get<double>(), 2) + " (" +
            number(peer["ratio_p10"].get<double>(), 2) + " .. " +
            number(peer["ratio_p90"].get<double>(), 2) + ") | ";
  }
  const bool is_stable = entry["calibration"]["stable"].get<bool>();
  return text + (entry["verified"].get<bool>() ? "yes" : "**no**") +
         (is_stable ? "" : ", the peak moved") + " |\n";
}

/// "12.34 (1.02)", or nothing where the run did not measure it.
std::string with_note(const Json& values, const char* name, const char* note) {
  return values.contains(name) ? number(values[name].get<double>(), 2) + " (" +
                                     number(values[note].get<double>(), 2) + ")"
                               : "";
}

/// The suite `recorded` beside what other tuners reached elsewhere: each as a share of the peak of
/// its own machine, and the time after which we had their share.
std::string recorded_table(const Json& report, const Json& recorded) {
  std::string rows;
  double log_sum = 0;
  int count = 0;
  for (const Json& entry : report["cases"]) {
    if (entry["suite"] != "recorded" || !entry["ours_gflops"].is_number()) {
      continue;
    }
    const Json* best = nullptr;
    for (const Json& other : recorded) {
      if (other["workload"] == entry["workload"] &&
          (best == nullptr || other["gflops"] > (*best)["gflops"])) {
        best = &other;
      }
    }
    if (best == nullptr) {
      continue;
    }
    const double theirs = (*best)["gflops"].get<double>() / (*best)["peak_gflops"].get<double>();
    const double ours = entry["peak_fraction"].get<double>();
    const double ours_gflops = entry["ours_gflops"].get<double>();
    const double flops = ours_gflops * entry["ours_ns"].get<double>();
    std::string reached = "not reached |  |";
    for (const Json& point : entry["curve"]) {  // seconds, trial, ns
      if (flops / point[2].get<double>() * ours / ours_gflops >= theirs) {
        const double seconds = point[0].get<double>();
        reached = number(seconds, 1) + " s | 1/" +
                  number((*best)["seconds"].get<double>() / seconds, 0) + " |";
        break;
      }
    }
    rows += "| `" + entry["workload"].get<std::string>() + "` | " +
            (*best)["tuner"].get<std::string>() + ", " + number(100 * theirs, 0) + " %, " +
            number((*best)["seconds"].get<double>(), 0) + " s | " + number(100 * ours, 0) +
            " % | " + number(ours / theirs, 2) + " | " + reached + "\n";
    log_sum += std::log(ours / theirs);
    ++count;
  }
  return count == 0
             ? ""
             : "\n### Beside recorded tuners\n\nShares of each machine's own peak; the better of "
               "Ansor and MetaSchedule. Geometric mean of the ratios: " +
                   number(std::exp(log_sum / count), 2) +
                   ".\n\n| workload | tuner, share, time it took | our share | ratio | their "
                   "share after | of their time |\n|---|---|---|---|---|---|\n" +
                   rows;
}

/// "0.2 (3.1)": median and most of the seconds to 95 % of the winner, where the milestones raced.
std::string seconds_to_95(const Json& report, const std::string& suite) {
  std::vector<double> seconds;
  for (const Json& entry : report["cases"]) {
    if (entry["suite"] == suite && entry.contains("raced_curve")) {
      const Json& after = entry["seconds_to_95"];
      seconds.push_back((after.is_number() ? after : entry["tune_seconds"]).get<double>());
    }
  }
  if (seconds.empty()) {
    return "";
  }
  const double most = *std::max_element(seconds.begin(), seconds.end());
  return number(tensorsmith::bench::median(std::move(seconds)), 1) + " (" + number(most, 1) + ")";
}

std::string tables(const std::string& path, const Json& report, const Json& recorded) {
  const Json& machine = report["machine"];
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string text = "\n## `" + name + "`\n\n" + report.value("date", std::string("no date")) +
                     ", " + machine["cpu"].get<std::string>() + " (" +
                     machine["microarchitecture"].get<std::string>() + ", " +
                     machine["isa"].get<std::string>() + ", " +
                     std::to_string(machine["usable_cpus"].get<int>()) + " cores), " +
                     machine["compiler"].get<std::string>() + ". Calibrated peak " +
                     number(machine["roofline"]["peak_gflops"].get<double>(), 0) + " GFLOP/s.";
  for (const auto& [library, version] : machine["libraries"].items()) {
    text += " " + library + ": " + version.get<std::string>() + ".";
  }
  text +=
      "\n\n| suite | cases | geomean | least | all of the network, ms (ratio) | without a budget, "
      "share of the tuned speed (least) | 95 % of it after, s (most) "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const auto& [suite, values] : report["summary"].items()) {
    text += "| " + suite + " | " + std::to_string(values["cases"].get<int>()) + " | " +
            number(values["geomean"].get<double>(), 2) + " | " +
            number(values["min"].get<double>(), 2) + " | " +
            with_note(values, "network_ms", "network_ratio") + " | " +
            with_note(values, "instant_geomean", "instant_min") + " | " +
            seconds_to_95(report, suite) + " |\n";
  }
  std::string suite;
  for (const Json& entry : report["cases"]) {
    if (const auto own = entry["suite"].get<std::string>(); own != suite) {
      suite = own;
      text +=
          "\n### " + suite + ", " + std::to_string(entry["threads"].get<int>()) +
          " thread(s)\n\n| workload | class | GFLOP/s | of peak | best peer | their time / ours "
          "(p10 .. p90) | verified |\n|---|---|---|---|---|---|---|\n";
    }
    text += row(entry);
  }
  return text + recorded_table(report, recorded);
}

/// Its microarchitecture; with the level of its instructions where others of that one have more.
std::string machine_of(const Json& report, const std::vector<Json>& all) {
  const Json& machine = report["machine"];
  const auto name = machine["microarchitecture"].get<std::string>();
  const auto isa = machine["isa"].get<std::string>();
  const bool is_widest = std::all_of(all.begin(), all.end(), [&](const Json& other) {
    return other["machine"]["microarchitecture"] != name ||
           other["machine"]["isa"].get<std::string>() <= isa;
  });
  return is_widest ? name : name + "-" + isa;
}

/// "1.02 (0.97), 9 cases", with code for another target the share of the peak: peers run their
/// best.
std::string overview_cell(const Json& report, const std::string& suite) {
  const Json& values = report["summary"][suite];
  double share = 0;
  int count = 0;
  bool is_host = true;
  for (const Json& entry : report["cases"]) {
    if (entry["suite"] == suite && entry["ours_gflops"].is_number()) {
      is_host = is_host && entry.value("target", "host") == "host";
      share += entry["peak_fraction"].get<double>();
      ++count;
    }
  }
  const std::string cases = std::to_string(values["cases"].get<int>());
  return is_host ? number(values["geomean"].get<double>(), 2) + " (" +
                       number(values["min"].get<double>(), 2) + "), " + cases
                 : number(100 * share / std::max(count, 1), 0) + " % of the peak, " + cases;
}
/// The suite, with the target of its code if that is not the host's.
std::string suite_name(const Json& report, const std::string& suite) {
  for (const Json& entry : report["cases"]) {
    if (entry["suite"] == suite && entry.value("target", "host") != "host") {
      return suite + ", code for " + entry["target"].get<std::string>();
    }
  }
  return suite;
}

/// Machines beside suites; of several runs the last one. `folder`: of the pages that it links.
std::string overview(const std::vector<Json>& reports, const std::string& folder) {
  std::map<std::string, std::map<std::string, std::string>> cells;  // by suite, then machine
  std::vector<std::string> machines;
  for (const Json& report : reports) {
    const std::string machine = machine_of(report, reports);
    if (std::find(machines.begin(), machines.end(), machine) == machines.end()) {
      machines.push_back(machine);
    }
    for (const auto& [suite, values] : report["summary"].items()) {
      cells[suite_name(report, suite)][machine] = overview_cell(report, suite);
    }
  }
  std::sort(machines.rbegin(), machines.rend());
  std::string text = "\n| suite |", line = "|---|";
  for (const std::string& machine : machines) {
    text += " [" + machine + "](" + folder + "/results-" + machine + ".md) |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const auto& [suite, of_machine] : cells) {
    text += "| " + suite + " |";
    for (const std::string& machine : machines) {
      const auto found = of_machine.find(machine);
      text += " " + (found == of_machine.end() ? "" : found->second) + " |";
    }
    text += "\n";
  }
  return text + "\n";
}

int run(bool checks, const std::string& page, const std::vector<std::string>& results) {
  std::vector<Json> reports;
  Json recorded = Json::array();
  std::vector<std::string> paths;
  for (const std::string& result : results) {
    Json report = Json::parse(tensorsmith::bench::read_text(result));
    if (report.contains("recorded_tuners")) {
      recorded = report["cases"];
    } else if (!report.contains("machine") || !report.contains("summary") ||
               !report.contains("cases")) {
      throw std::runtime_error(result + " is no report of bench_kernels");
    } else {
      reports.push_back(std::move(report));
      paths.push_back(result);
    }
  }
  std::map<std::string, std::string> texts;  // by machine
  for (std::size_t i = 0; i < reports.size(); ++i) {
    texts[machine_of(reports[i], reports)] += tables(paths[i], reports[i], recorded);
  }
  const std::filesystem::path folder = std::filesystem::path(page).replace_extension();
  int code = tensorsmith::bench::write_marked_page(
      page, "bench_page", overview(reports, folder.filename().string()), checks);
  for (const auto& [machine, text] : texts) {
    const std::filesystem::path own = folder / ("results-" + machine + ".md");
    if (!checks && !std::filesystem::exists(own)) {
      std::filesystem::create_directories(folder);
      std::ofstream(own) << "# Results on " << machine << "\n\n"
                         << "Written by bench_page; [how to read it](method.md).\n\n"
                         << "<!-- bench_page: begin -->\n<!-- bench_page: end -->\n";
    }
    code = std::max(
        code, tensorsmith::bench::write_marked_page(own.string(), "bench_page", text, checks));
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const bool checks = argc > 1 && std::strcmp(argv[1], "--check") == 0;
  std::vector<std::string> files(argv + (checks ? 2 : 1), argv + argc);
  if (files.size() < 2 || files[0][0] == '-') {
    std::fprintf(stderr, "usage: bench_page [--check] PAGE.md RESULT.json...\n");
    return 2;
  }
  const std::string page = files.front();
  files.erase(files.begin());
  std::sort(files.begin(), files.end());
  try {
    return run(checks, page, files);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_page: %s\n", error.what());
    return 2;
  }
}
