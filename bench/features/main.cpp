// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// bench_features: microseconds to read the features of one state.
//
//   bench_features [--json] [WORKLOAD...]
// States are random complete programs, as the search ranks them.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/support/candidates.hpp"
#include "bench/support/loop_timer.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/workload_main.hpp"
#include "tensorsmith/feature/extract.hpp"

namespace tensorsmith::bench {
namespace {

int run(std::vector<std::string> workloads, bool prints_json) {
  if (workloads.empty()) {
    workloads = {"gemm:512x512x512:f32", "gemm:127x509x251:f32,bias,relu",
                 "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,relu", "softmax:1024x1024"};
  }
  const Target target = host_target();
  nlohmann::json report;
  report["machine"] = machine_facts(probe_host(), {});
  report["cases"] = nlohmann::json::array();
  for (const std::string& workload : workloads) {
    const std::vector<State> states = sample_states(workload, target, 64);
    if (states.empty()) {
      std::fprintf(stderr, "bench_features: no complete program of %s could be drawn\n",
                   workload.c_str());
      return 1;
    }
    std::size_t rows = 0;
    const double ns = median_call_ns(
        [&] {
          rows = 0;
          for (const State& state : states) {
            rows += extract_features(state, target).num_rows;
          }
        },
        9, 2e7);
    const double us = ns / 1e3 / static_cast<double>(states.size());
    report["cases"].push_back(
        {{"workload", workload}, {"us_per_state", us}, {"states", states.size()}, {"rows", rows}});
    if (!prints_json) {
      std::printf("%-52s %8.1f us per state (%zu states, %.1f rows each)\n", workload.c_str(), us,
                  states.size(), static_cast<double>(rows) / static_cast<double>(states.size()));
    }
  }
  if (prints_json) {
    std::printf("%s\n", report.dump(2).c_str());
  }
  return 0;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  return tensorsmith::bench::run_on_workloads("bench_features", argc, argv,
                                              tensorsmith::bench::run);
}
