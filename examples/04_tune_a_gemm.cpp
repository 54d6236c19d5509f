// SPDX-License-Identifier: Apache-2.0
// Lesson 4: tune a matrix product on this machine and call the kernel that comes out.
//
// Candidates are measured in a worker process and compared with a reference result; what wins is
// machine code that this program links and calls like a function.
// requires: llvm json
#include <cstdio>
#include <cstdlib>

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
  params.m = 96, params.n = 80, params.k = 64;
  const ts::ops::Workload gemm = ts::ops::gemm(params);

  const ts::TuneTask task{gemm.dag, ts::host_target(), gemm.name, gemm.nominal_flop};
  ts::TuneOptions options;
  options.budget = {0, 24};  // seconds (0: no limit) and trials; the first that is reached ends
  options.on_progress = [](const ts::TuneProgress& now) {
    if (now.trials % 8 == 0) {
      std::printf("%3lld trials, best %.0f ns\n", static_cast<long long>(now.trials), now.best_ns);
    }
  };
  const ts::TuneResult result = ts::tune(task, options);
  require(result.has_best() && result.summary.is_verified, "a candidate is right and measured");
  std::printf("%s: %.1f GFLOP/s after %lld trials\n", gemm.name.c_str(), result.summary.gflops,
              static_cast<long long>(result.summary.trials));

  const auto m = static_cast<std::size_t>(params.m), n = static_cast<std::size_t>(params.n);
  const auto length = static_cast<std::size_t>(params.k);
  ts::AlignedBuffer<float> a(m * length), b(length * n), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 7) - 3;
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(i % 5) - 2;
  }
  const ts::Kernel kernel = result.kernel();
  kernel(a, b, c);  // in the dag's order
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      float want = 0;
      for (std::size_t k = 0; k < length; ++k) {
        want += a[i * length + k] * b[k * n + j];
      }
      // Small whole numbers: every order of the sum gives the same.
      require(c[i * n + j] == want, "the kernel multiplies matrices");
    }
  }
  // A wrong number, size, type or alignment of arguments throws and says which.
  try {
    kernel(a, b);
    require(false, "a call without the output is refused");
  } catch (const ts::Error& error) {
    std::printf("refused: %s\n", error.what());
  }
}
