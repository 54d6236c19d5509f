// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cuda
// Lesson 13: tune a matrix product on the GPU of this machine.
//
// The same search as in lesson 12; candidates are compiled by NVRTC on all cores, run in a worker
// process on the device, compared with a reference and timed there. What is missing on a machine
// without a GPU is said in one sentence, and nothing fails. requires: llvm json cuda
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/measure/cuda_devices.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/tensorsmith.hpp"

namespace ts = tensorsmith;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

int main() {
  // "cuda" is the first device; "cuda:1", "sm_90" or "h200" name another one.
  const auto target = ts::cuda_device_target("cuda");
  if (!target) {
    std::printf("nothing to do: %s\n", target.error().c_str());
    return 0;
  }
  const auto compiler = ts::NvrtcCompiler::open();
  if (!compiler) {
    std::printf("nothing to do: %s\n", compiler.error().c_str());
    return 0;
  }

  ts::ops::GemmParams params;
  params.m = 512, params.n = 512, params.k = 512;
  const ts::ops::Workload gemm = ts::ops::gemm(params);
  const ts::TuneTask task{gemm.dag, *target, gemm.name, gemm.nominal_flop};
  ts::TuneOptions options;
  options.budget = {30, 256};  // half a minute, or 256 trials
  ts::TuneResult result;
  try {
    result = ts::tune(task, options);
  } catch (const ts::Error& error) {  // somebody else measures on it, an old driver, ...
    std::printf("nothing to do: %s\n", error.what());
    return 0;
  }

  require(result.has_best(), "some candidate runs");
  const ts::TuneSummary& summary = result.summary;
  require(summary.is_verified, "the winner's result was compared with the reference");
  std::printf("%s on %s: %.1f us, %.0f GFLOP/s, %.0f %% of the f32 peak; %lld trials in %.0f s\n",
              gemm.name.c_str(), task.target.name.c_str(), summary.best_ns / 1e3, summary.gflops,
              100 * summary.peak_fraction, static_cast<long long>(summary.trials), summary.seconds);
  for (std::size_t i = 0; i < ts::num_measure_statuses; ++i) {
    if (summary.statuses[i] > 0) {
      std::printf("  %s: %lld\n", std::string(name_of(static_cast<ts::MeasureStatus>(i))).c_str(),
                  static_cast<long long>(summary.statuses[i]));
    }
  }
  // The kernel as CUDA C++, its launch in a comment on top: this is what goes into a program.
  std::printf("\n%s", result.source().c_str());
}
