// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// Lesson 12: tune a matrix product for a GPU that is not here.
//
// "sim:a100" is the board A100 as a model: candidates are lowered to kernels of blocks and threads,
// and an analytic latency takes the place of a run. So the times are estimates; the search, the
// schedules, the journal and the faults of a device are the real thing. Read docs/gpu.md for what
// the model sees and what it does not. requires: llvm json
#include <cstdio>
#include <cstdlib>
#include <string>

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
  ts::ops::GemmParams params;
  params.m = 512, params.n = 512, params.k = 512;
  const ts::ops::Workload gemm = ts::ops::gemm(params);

  const auto board = ts::Target::from_name("sim:a100");
  require(board.has_value() && board->is_simulated, "an A100 can be simulated anywhere");
  const ts::TuneTask task{gemm.dag, *board, gemm.name, gemm.nominal_flop};

  ts::TuneOptions options;
  options.budget = {0, 96};  // no limit of seconds, 96 trials
  // Devices hang, crash and slow down. Here you choose how often, to see what happens to the run.
  options.simulated.faults.hang = 0.05;
  options.simulated.faults.sticky_error = 0.05;
  options.simulated.faults.throttling = 0.05;
  const ts::TuneResult result = ts::tune(task, options);

  require(result.has_best(), "the search survives every fault");
  const ts::TuneSummary& summary = result.summary;
  std::printf("%s on %s: %.1f us, %.0f %% of the f32 peak (a model's, nothing was run)\n",
              gemm.name.c_str(), task.target.name.c_str(), summary.best_ns / 1e3,
              100 * summary.peak_fraction);
  for (std::size_t i = 0; i < ts::num_measure_statuses; ++i) {
    if (summary.statuses[i] > 0) {
      std::printf("  %s: %lld\n", std::string(name_of(static_cast<ts::MeasureStatus>(i))).c_str(),
                  static_cast<long long>(summary.statuses[i]));
    }
  }
  // The first program is the best by the model without its noise: there may be nothing better.
  require(summary.best_ns < 1.1 * summary.curve.front().best_ns,
          "after a hundred trials the winner is as fast as the first one, but for the noise");

  // What the winner asks of the board, its schedule, and its loops.
  const std::string text = result.explain();
  std::printf("\n%s", text.c_str());
  require(text.find("block_x") != std::string::npos, "the loops are those of a kernel");

  // The same as CUDA C++, for nvcc or NVRTC, with a function of the host that launches it.
  const std::string source = result.source();
  require(source.find("__global__") != std::string::npos, "a GPU's program is a CUDA kernel");
  std::FILE* const file = std::fopen("gemm_a100.cu", "w");
  require(file != nullptr, "gemm_a100.cu can be written here");
  std::fputs(source.c_str(), file);
  std::fclose(file);
  std::printf("\nwritten: gemm_a100.cu, %zu characters\n", source.size());

  // There is no code to call for a device that is not there.
  try {
    (void)result.kernel();
    require(false, "a simulated device has no kernel");
  } catch (const ts::Error& error) {
    std::printf("refused: %s\n", error.what());
  }
}
