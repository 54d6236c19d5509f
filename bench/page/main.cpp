// SPDX-License-Identifier: Apache-2.0
// requires: json
// bench_page: the tables of docs/performance.md from files that bench_kernels wrote.
//
//   bench_page PAGE RESULT.json...            writes the part of PAGE between the two marks
//   bench_page --check PAGE RESULT.json...    exit code 1 if it would change
// One of the files may hold what other tuners reached (bench/results/recorded-tuners.json).
// What stands outside of the marks is written by hand.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
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

int run(bool checks, const std::string& page, const std::vector<std::string>& results) {
  std::vector<Json> reports;
  Json recorded = Json::array();
  for (const std::string& result : results) {
    reports.push_back(Json::parse(tensorsmith::bench::read_text(result)));
    if (reports.back().contains("recorded_tuners")) {
      recorded = reports.back()["cases"];
    }
  }
  std::string text;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!reports[i].contains("recorded_tuners")) {
      text += tables(results[i], reports[i], recorded);
    }
  }
  return tensorsmith::bench::write_marked_page(page, "bench_page", text, checks);
}

}  // namespace

int main(int argc, char** argv) {
  const bool checks = argc > 1 && std::strcmp(argv[1], "--check") == 0;
  std::vector<std::string> files(argv + (checks ? 2 : 1), argv + argc);
  if (files.size() < 2 || files[0][0] == '-') {
    std::fprintf(stderr, "usage: bench_page [--check] PAGE RESULT.json...\n");
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
