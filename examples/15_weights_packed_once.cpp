// SPDX-License-Identifier: Apache-2.0
// Lesson 15: weights that do not change are packed once, before the first call.
//
// An input that the workload calls packed (an operation names it in `layout_free_placeholders`) is
// a constant. What a schedule computes from constants alone becomes a function of its own.
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
  params.m = 24, params.n = 80, params.k = 64;
  params.packing = ts::ops::PackingClass::packed_weights;  // "gemm:24x80x64:f32,packed"
  const ts::ops::Workload gemm = ts::ops::gemm(params);

  const ts::TuneTask task{gemm.dag, ts::host_target(), gemm.name, gemm.nominal_flop};
  ts::TuneOptions options;
  options.budget = {0, 8};
  const ts::TuneResult result = ts::tune(task, options);
  require(result.has_best() && result.summary.is_verified, "a candidate is right and measured");

  // What an embedding compiler lays out in its own memory, best at the beginning of a 64-byte line.
  for (const ts::KernelParameter& parameter : result.signature.prepack_parameters) {
    std::printf("prepack %s %s: %lld elements\n", parameter.is_output ? "writes" : "reads",
                parameter.name.c_str(), static_cast<long long>(parameter.num_elements));
  }

  const ts::Kernel kernel = result.kernel();
  ts::AlignedBuffer<float> a(24 * 64), b(64 * 80), c(24 * 80);
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(i % 5) - 2;
  }
  const auto weights = kernel.prepack(b);  // once; `b` is not needed any more
  for (int call = 0; call < 3; ++call) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>((i + static_cast<std::size_t>(call)) % 7) - 3;
    }
    if (weights.empty()) {
      kernel(a, b, c);  // the best schedule packs nothing
    } else {
      kernel(a, weights[0], c);
    }
    for (std::size_t i = 0; i < 24; ++i) {
      for (std::size_t j = 0; j < 80; ++j) {
        float want = 0;
        for (std::size_t k = 0; k < 64; ++k) {
          want += a[i * 64 + k] * b[k * 80 + j];
        }
        require(c[i * 80 + j] == want, "the kernel multiplies with the packed weights");
      }
    }
  }
}
