// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
// bench_kernels: tuned kernels beside oneDNN and OpenBLAS, in one process, interleaved.
//
//   bench_kernels --shape gemm:512x512x512:f32 --tune-seconds 20 --json compare.json
//
// Exit code 0: every case verified; 1: not; 2: wrong arguments; 130: interrupted, with the cases
// that were finished in the report.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/support/arguments.hpp"
#include "bench/support/interrupt.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/report_file.hpp"
#include "case.hpp"
#include "suites.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/assert.hpp"

namespace tensorsmith::bench {
namespace {

struct Entry {
  std::string suite, workload;
  int count = 0;  ///< in the network; 0: the suite is none
};

std::vector<Entry> chosen(const std::vector<std::string>& suites,
                          const std::vector<std::string>& shapes) {
  std::vector<Entry> entries;
  for (const std::string& name : suites) {
    bool is_known = false;
    std::string known;
    for (const Suite& suite : all_suites()) {
      known += (known.empty() ? "" : ", ") + suite.name;
      is_known = is_known || suite.name == name;
      for (std::size_t i = 0; suite.name == name && i < suite.workloads.size(); ++i) {
        entries.push_back({name, suite.workloads[i], suite.counts.empty() ? 0 : suite.counts[i]});
      }
    }
    if (!is_known) {
      throw Error("unknown suite \"" + name + "\"; known: " + known);
    }
  }
  for (const std::string& shape : shapes) {
    entries.push_back({"shape", shape, 0});
  }
  for (const Entry& entry : entries) {
    for (const std::string& text : alternatives_of(entry.workload)) {
      if (const auto workload = ops::parse_workload(text); !workload) {
        throw Error(workload.error());
      }
    }
  }
  return entries;
}

/// Ratio against the best peer of a case; 0 if there is none.
double best_peer_ratio(const nlohmann::ordered_json& entry) {
  double ratio = 0;
  for (const auto& peer : entry["peers"]) {
    const double own = peer["ratio"].get<double>();
    ratio = ratio == 0 || own < ratio ? own : ratio;
  }
  return ratio;
}

struct SuiteSums {
  std::vector<double> ratios, instant_shares;
  double our_ms = 0, peer_ms = 0;  ///< one pass through the network, the best peer of each case
};

double geomean(const std::vector<double>& values) {
  double logs = 0;
  for (const double value : values) {
    logs += std::log(value);
  }
  return std::exp(logs / static_cast<double>(values.size()));
}

nlohmann::ordered_json summarize(const nlohmann::ordered_json& cases) {
  std::map<std::string, SuiteSums> suites;
  for (const auto& entry : cases) {
    const double ratio = best_peer_ratio(entry);
    if (ratio <= 0) {
      continue;
    }
    SuiteSums& sums = suites[entry["suite"].get<std::string>()];
    sums.ratios.push_back(ratio);
    const double milliseconds = entry.value("count", 0) * entry["ours_ns"].get<double>() * 1e-6;
    sums.our_ms += milliseconds;
    sums.peer_ms += milliseconds * ratio;
    if (entry.contains("instant_share")) {
      sums.instant_shares.push_back(entry["instant_share"].get<double>());
    }
  }
  nlohmann::ordered_json summary = nlohmann::ordered_json::object();
  for (const auto& [suite, sums] : suites) {
    const auto least = [](const std::vector<double>& values) {
      return *std::min_element(values.begin(), values.end());
    };
    summary[suite] = {{"geomean", geomean(sums.ratios)},
                      {"min", least(sums.ratios)},
                      {"cases", sums.ratios.size()}};
    if (sums.our_ms > 0) {
      summary[suite]["network_ms"] = sums.our_ms;
      summary[suite]["network_ratio"] = sums.peer_ms / sums.our_ms;
    }
    if (!sums.instant_shares.empty()) {
      summary[suite]["instant_geomean"] = geomean(sums.instant_shares);
      summary[suite]["instant_min"] = least(sums.instant_shares);
    }
  }
  return summary;
}

void print_case(const nlohmann::ordered_json& entry, std::FILE* out) {
  const auto number = [](const nlohmann::ordered_json& value) {
    return value.is_number() ? value.get<double>() : 0.0;
  };
  std::fprintf(out, "%s  class %s, %d thread(s): ", entry["workload"].get<std::string>().c_str(),
               entry["class"].get<std::string>().c_str(), entry["threads"].get<int>());
  if (!entry["ours_gflops"].is_number()) {
    std::fprintf(out, "no kernel: %s\n", entry.value("problem", std::string("unknown")).c_str());
    return;
  }
  std::fprintf(out, "%.1f GFLOP/s, %.0f %% of peak, %s\n", number(entry["ours_gflops"]),
               100 * number(entry["peak_fraction"]),
               entry["verified"].get<bool>() ? "verified" : "NOT VERIFIED");
  if (entry.value("in_place", false)) {
    std::fprintf(out, "    the result lies in the memory of the residual\n");
  }
  for (const auto& [name, peer] : entry["peers"].items()) {
    std::fprintf(out, "    %-9s %8.1f GFLOP/s, ratio %.2f (%.2f .. %.2f)  %s\n", name.c_str(),
                 number(peer["gflops"]), number(peer["ratio"]), number(peer["ratio_p10"]),
                 number(peer["ratio_p90"]), peer["impl"].get<std::string>().c_str());
  }
  for (const auto& [name, reason] : entry["left_out"].items()) {
    std::fprintf(out, "    %-9s left out: %s\n", name.c_str(), reason.get<std::string>().c_str());
  }
  if (entry.contains("problem")) {
    std::fprintf(out, "    %s\n", entry["problem"].get<std::string>().c_str());
  }
  if (entry.contains("instant_share")) {
    std::fprintf(out,
                 "    without a budget: %.2f of it after %.0f ms (chosen and compiled: %.0f)\n",
                 number(entry["instant_share"]), number(entry["instant_ms"]),
                 number(entry["instant_compiled_ms"]));
  }
  if (entry.contains("seconds_to_95") && entry["seconds_to_95"].is_number()) {
    std::fprintf(out, "    95 %% of this speed after %.1f s\n", number(entry["seconds_to_95"]));
  }
  if (entry["threads"].get<int>() > 1) {
    int slow = entry["slow_samples"].get<int>();
    for (const auto& [name, peer] : entry["peers"].items()) {
      slow += peer["slow_samples"].get<int>();
    }
    std::fprintf(out, "    noise: %d of %d runs took more than twice the shortest\n", slow,
                 entry["pairs"].get<int>() * static_cast<int>(1 + entry["peers"].size()));
  }
  if (entry.value("below_roofline", false)) {
    std::fprintf(out, "    faster than the roofline allows: something is wrong with this case\n");
  }
  if (!entry["calibration"]["stable"].get<bool>()) {
    std::fprintf(out, "    the peak moved by %.0f %% meanwhile: do not quote this case\n",
                 100 * number(entry["calibration"]["moved"]));
  }
}

int run(const std::vector<std::string>& suites, const std::vector<std::string>& shapes,
        const CaseOptions& options, const std::string& json_path) {
  const std::vector<Entry> entries = chosen(suites, shapes);
  const ReportFile file(json_path);
  std::FILE* const progress = file.progress();
  std::vector<FoundPeer> peers = make_peers();
  const HostInfo host = probe_host();
  const Roofline roofline = measure_roofline(host);
  nlohmann::ordered_json report = report_head(host, peers);
  report["machine"]["roofline"] = to_json(roofline);
  report["cases"] = nlohmann::ordered_json::array();
  bool all_verified = true;
  for (const Entry& entry : entries) {
    nlohmann::ordered_json done = run_case(entry.suite, entry.workload, options, roofline, peers);
    if (is_interrupted()) {
      report["interrupted"] = true;
      std::fprintf(stderr, "bench_kernels: interrupted; %zu of %zu cases are finished\n",
                   report["cases"].size(), entries.size());
      break;
    }
    if (entry.count > 0) {
      done["count"] = entry.count;
    }
    all_verified = all_verified && done["verified"].get<bool>();
    print_case(done, progress);
    std::fflush(progress);
    report["cases"].push_back(std::move(done));
    file.write(report, false);
  }
  report["summary"] = summarize(report["cases"]);
  for (const auto& [suite, values] : report["summary"].items()) {
    std::fprintf(progress, "%s: geomean %.2f, min %.2f over %d cases (best peer of each)\n",
                 suite.c_str(), values["geomean"].get<double>(), values["min"].get<double>(),
                 values["cases"].get<int>());
    if (values.contains("network_ms")) {
      std::fprintf(progress, "%s: the network's convolutions in %.2f ms, ratio %.2f\n",
                   suite.c_str(), values["network_ms"].get<double>(),
                   values["network_ratio"].get<double>());
    }
    if (values.contains("instant_geomean")) {
      std::fprintf(progress, "%s: without a budget %.2f of the tuned speed (geomean), min %.2f\n",
                   suite.c_str(), values["instant_geomean"].get<double>(),
                   values["instant_min"].get<double>());
    }
  }
  file.write(report, true);
  return is_interrupted() ? exit_interrupted : all_verified ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"Tuned kernels beside oneDNN and OpenBLAS, in one process, interleaved"};
  std::vector<std::string> suites, shapes;
  std::string json_path;
  tensorsmith::bench::CaseOptions options;
  app.add_option("--suite", suites, "suites, comma separated")->delimiter(',');
  app.add_option("--shape", shapes,
                 "workload strings, or \"A or B\", ways to compute the same; may be repeated")
      ->delimiter('\0');
  app.add_option("--threads", options.threads, "threads of every contestant")
      ->check(CLI::Range(1, 1024));
  app.add_option("--tune-seconds", options.tune_seconds, "tuning budget per case")
      ->check(CLI::PositiveNumber);
  app.add_option("--pairs", options.pairs, "interleaved rounds per case")
      ->check(CLI::Range(5, 10000));
  app.add_option("--seed", options.seed, "seed of the search");
  app.add_option("--target", options.target,
                 "host, or a level or CPU name whose code this machine runs, such as x86-64-v3");
  app.add_option("--space", options.space, "space of programs: native or ansor");
  app.add_option("--records", options.records,
                 "journal: race its best schedules instead of tuning again");
  app.add_flag("--instant", options.with_instant,
               "race what tuning without a budget gives as well");
  app.add_flag("--cold", options.is_cold, "evict the caches before every call; 1 thread only");
  app.add_option("--json", json_path, "report file, - for standard output");
  if (const auto code = tensorsmith::bench::parse_arguments(app, argc, argv, "bench_kernels", [&] {
        if (options.is_cold && options.threads > 1) {
          throw CLI::ValidationError("--cold", "needs --threads 1");
        }
      })) {
    return *code;
  }
  if (suites.empty() && shapes.empty()) {
    suites = {"quick"};
  }
  tensorsmith::bench::watch_interrupts();
  try {
    return tensorsmith::bench::run(suites, shapes, options, json_path);
  } catch (const tensorsmith::Error& error) {
    std::fprintf(stderr, "bench_kernels: %s\n", error.what());
    return 2;
  }
}
