// SPDX-License-Identifier: Apache-2.0
// A program of somebody else, outside of the prefix: tunes with the worker that was installed,
// calls the kernel with vectors and writes its C++ to the file that is named.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "tensorsmith/version.hpp"
#ifdef TENSORSMITH_HAS_LLVM
#include "tensorsmith/measure/worker_measurer.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune.hpp"

namespace ts = tensorsmith;

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  const std::string problem = ts::worker_program_problem();
  if (!problem.empty()) {
    std::puts(problem.c_str());
    return 1;
  }
  try {
    const auto gemm = ts::ops::parse_workload("gemm:6x20x8:f32").value();
    ts::TuneOptions options;
    options.budget = {0, 2};
    const ts::TuneResult result =
        ts::tune(ts::TuneTask{gemm.dag, ts::host_target(), gemm.name, gemm.nominal_flop}, options);
    std::vector<float> a(6 * 8, 2), b(8 * 20, 3), c(6 * 20);
    result.kernel()(a, b, c);
    const bool is_right = result.summary.is_verified && c == std::vector<float>(6 * 20, 48);
    std::ofstream(argv[1]) << result.source("my_gemm");
    std::printf("%s: %s\n", ts::find_worker_program().c_str(), is_right ? "right" : "wrong");
    return is_right ? 0 : 1;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
#else
int main() {
  std::puts("without the CPU back end");
  return 0;
}
#endif
