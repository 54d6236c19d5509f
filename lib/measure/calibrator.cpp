// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/calibrator.hpp"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tensorsmith {
namespace {

// x = x * a + b with |a| < 1 converges to b / (1 - a): no overflow, no denormals. Every vector is
// named: an array that a compiler fails to keep in registers would halve the result.
#define TENSORSMITH_CALIBRATOR_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TENSORSMITH_CALIBRATOR_16(X) TENSORSMITH_CALIBRATOR_12(X) X(12) X(13) X(14) X(15)

volatile float calibrator_sink = 0;

struct Kernel {
  void (*run)(std::int64_t rounds);
  std::int32_t vector_bits;
  std::int64_t flop_per_round;
};

#if defined(__x86_64__)
__attribute__((target("avx512f"), noinline)) void run_avx512(std::int64_t rounds) {
  const __m512 a = _mm512_set1_ps(0.5F);
  const __m512 b = _mm512_set1_ps(0.25F);
#define TENSORSMITH_DECLARE(i) __m512 x##i = _mm512_set1_ps(0.1F * static_cast<float>(i));
  TENSORSMITH_CALIBRATOR_16(TENSORSMITH_DECLARE)
#undef TENSORSMITH_DECLARE
  for (std::int64_t round = 0; round < rounds; ++round) {
#define TENSORSMITH_STEP(i) x##i = _mm512_fmadd_ps(x##i, a, b);
    TENSORSMITH_CALIBRATOR_16(TENSORSMITH_STEP)
#undef TENSORSMITH_STEP
  }
  __m512 sum = _mm512_setzero_ps();
#define TENSORSMITH_ADD(i) sum = _mm512_add_ps(sum, x##i);
  TENSORSMITH_CALIBRATOR_16(TENSORSMITH_ADD)
#undef TENSORSMITH_ADD
  calibrator_sink = _mm512_cvtss_f32(sum);
}

// Sixteen registers: twelve accumulators and the two constants.
__attribute__((target("avx2,fma"), noinline)) void run_avx2(std::int64_t rounds) {
  const __m256 a = _mm256_set1_ps(0.5F);
  const __m256 b = _mm256_set1_ps(0.25F);
#define TENSORSMITH_DECLARE(i) __m256 x##i = _mm256_set1_ps(0.1F * static_cast<float>(i));
  TENSORSMITH_CALIBRATOR_12(TENSORSMITH_DECLARE)
#undef TENSORSMITH_DECLARE
  for (std::int64_t round = 0; round < rounds; ++round) {
#define TENSORSMITH_STEP(i) x##i = _mm256_fmadd_ps(x##i, a, b);
    TENSORSMITH_CALIBRATOR_12(TENSORSMITH_STEP)
#undef TENSORSMITH_STEP
  }
  __m256 sum = _mm256_setzero_ps();
#define TENSORSMITH_ADD(i) sum = _mm256_add_ps(sum, x##i);
  TENSORSMITH_CALIBRATOR_12(TENSORSMITH_ADD)
#undef TENSORSMITH_ADD
  calibrator_sink = _mm256_cvtss_f32(sum);
}

__attribute__((noinline)) void run_sse2(std::int64_t rounds) {
  const __m128 a = _mm_set1_ps(0.5F);
  const __m128 b = _mm_set1_ps(0.25F);
#define TENSORSMITH_DECLARE(i) __m128 x##i = _mm_set1_ps(0.1F * static_cast<float>(i));
  TENSORSMITH_CALIBRATOR_12(TENSORSMITH_DECLARE)
#undef TENSORSMITH_DECLARE
  for (std::int64_t round = 0; round < rounds; ++round) {
#define TENSORSMITH_STEP(i) x##i = _mm_add_ps(_mm_mul_ps(x##i, a), b);
    TENSORSMITH_CALIBRATOR_12(TENSORSMITH_STEP)
#undef TENSORSMITH_STEP
  }
  __m128 sum = _mm_setzero_ps();
#define TENSORSMITH_ADD(i) sum = _mm_add_ps(sum, x##i);
  TENSORSMITH_CALIBRATOR_12(TENSORSMITH_ADD)
#undef TENSORSMITH_ADD
  calibrator_sink = _mm_cvtss_f32(sum);
}

Kernel choose_kernel(std::int32_t most_bits) {
  __builtin_cpu_init();
  if (most_bits >= 512 && __builtin_cpu_supports("avx512f")) {
    return {&run_avx512, 512, 16 * 16 * 2};
  }
  if (most_bits >= 256 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {&run_avx2, 256, 12 * 8 * 2};
  }
  return {&run_sse2, 128, 12 * 4 * 2};
}
#else
using FloatVector = float __attribute__((vector_size(16)));

__attribute__((noinline)) void run_generic(std::int64_t rounds) {
  FloatVector x[12] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (FloatVector& value : x) {
      value = value * 0.5F + 0.25F;
    }
  }
  float sum = 0;
  for (const FloatVector& value : x) {
    sum += value[0];
  }
  calibrator_sink = sum;
}

Kernel choose_kernel(std::int32_t) { return {&run_generic, 128, 12 * 4 * 2}; }
#endif

}  // namespace

Calibration calibrate_peak(std::int64_t budget_ns, std::int32_t most_vector_bits) {
  using Clock = std::chrono::steady_clock;
  const Kernel kernel = choose_kernel(most_vector_bits > 0 ? most_vector_bits : INT32_MAX);
  // A block of about 100 microseconds at 4 GHz: long against the clock, short against time slices.
  const std::int64_t rounds = 50'000;
  Calibration result;
  result.vector_bits = kernel.vector_bits;
  const Clock::time_point start = Clock::now();
  std::int64_t elapsed = 0;
  do {
    const Clock::time_point before = Clock::now();
    kernel.run(rounds);
    const Clock::time_point after = Clock::now();
    const auto block = std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count();
    const double gflops = static_cast<double>(kernel.flop_per_round * rounds) /
                          static_cast<double>(std::max<std::int64_t>(block, 1));
    result.peak_gflops_f32 = std::max(result.peak_gflops_f32, gflops);
    elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(after - start).count();
  } while (elapsed < budget_ns);
  return result;
}

}  // namespace tensorsmith
