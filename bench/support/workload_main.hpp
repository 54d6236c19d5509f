// SPDX-License-Identifier: Apache-2.0
// main() of the benchmarks that take workloads and --json.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/error.hpp"

namespace tensorsmith::bench {

/// Calls run(workloads, prints_json). Returns its result; 2 for a wrong option or
/// tensorsmith::Error.
template <typename Run>
int run_on_workloads(const char* name, int argc, char** argv, Run run) {
  std::vector<std::string> workloads;
  bool prints_json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      prints_json = true;
    } else if (argv[i][0] == '-') {
      std::fprintf(stderr, "usage: %s [--json] [WORKLOAD...]\n", name);
      return 2;
    } else {
      workloads.emplace_back(argv[i]);
    }
  }
  try {
    return run(std::move(workloads), prints_json);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  }
}

}  // namespace tensorsmith::bench
