// SPDX-License-Identifier: Apache-2.0
#include "bench/support/calibrate.hpp"

#include <algorithm>
#include <cmath>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/paired.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tensorsmith::bench {
namespace {

// Each loop makes `steps` rounds over its accumulators; x <- x * a + b with a, b near 1 and 0 stays
// finite. The result is returned so that nothing can be dropped.
#if defined(__x86_64__)

__attribute__((target("avx512f"), noinline)) float fma_loop_avx512(std::int64_t steps, float a_in,
                                                                   float b_in) {
  const __m512 a = _mm512_set1_ps(a_in);
  const __m512 b = _mm512_set1_ps(b_in);
  __m512 x0 = a, x1 = a, x2 = a, x3 = a, x4 = a, x5 = a, x6 = a, x7 = a;
  __m512 y0 = b, y1 = b, y2 = b, y3 = b, y4 = b, y5 = b, y6 = b, y7 = b;
  for (std::int64_t step = 0; step < steps; ++step) {
    x0 = _mm512_fmadd_ps(x0, a, b);
    x1 = _mm512_fmadd_ps(x1, a, b);
    x2 = _mm512_fmadd_ps(x2, a, b);
    x3 = _mm512_fmadd_ps(x3, a, b);
    x4 = _mm512_fmadd_ps(x4, a, b);
    x5 = _mm512_fmadd_ps(x5, a, b);
    x6 = _mm512_fmadd_ps(x6, a, b);
    x7 = _mm512_fmadd_ps(x7, a, b);
    y0 = _mm512_fmadd_ps(y0, a, b);
    y1 = _mm512_fmadd_ps(y1, a, b);
    y2 = _mm512_fmadd_ps(y2, a, b);
    y3 = _mm512_fmadd_ps(y3, a, b);
    y4 = _mm512_fmadd_ps(y4, a, b);
    y5 = _mm512_fmadd_ps(y5, a, b);
    y6 = _mm512_fmadd_ps(y6, a, b);
    y7 = _mm512_fmadd_ps(y7, a, b);
    // Keeps the optimiser from seeing that all accumulators follow the same sequence.
    __asm__ volatile(""
                     : "+v"(x0), "+v"(x1), "+v"(x2), "+v"(x3), "+v"(x4), "+v"(x5), "+v"(x6),
                       "+v"(x7));
    __asm__ volatile(""
                     : "+v"(y0), "+v"(y1), "+v"(y2), "+v"(y3), "+v"(y4), "+v"(y5), "+v"(y6),
                       "+v"(y7));
  }
  const __m512 sum = _mm512_add_ps(
      _mm512_add_ps(_mm512_add_ps(x0, x1), _mm512_add_ps(x2, x3)),
      _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(x4, x5), _mm512_add_ps(x6, x7)),
                    _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(y0, y1), _mm512_add_ps(y2, y3)),
                                  _mm512_add_ps(_mm512_add_ps(y4, y5), _mm512_add_ps(y6, y7)))));
  float lanes[16];
  _mm512_storeu_ps(lanes, sum);
  return lanes[0];
}

__attribute__((target("avx2,fma"), noinline)) float fma_loop_avx2(std::int64_t steps, float a_in,
                                                                  float b_in) {
  const __m256 a = _mm256_set1_ps(a_in);
  const __m256 b = _mm256_set1_ps(b_in);
  __m256 x0 = a, x1 = a, x2 = a, x3 = a, x4 = a, x5 = a;
  __m256 y0 = b, y1 = b, y2 = b, y3 = b, y4 = b, y5 = b;
  for (std::int64_t step = 0; step < steps; ++step) {
    x0 = _mm256_fmadd_ps(x0, a, b);
    x1 = _mm256_fmadd_ps(x1, a, b);
    x2 = _mm256_fmadd_ps(x2, a, b);
    x3 = _mm256_fmadd_ps(x3, a, b);
    x4 = _mm256_fmadd_ps(x4, a, b);
    x5 = _mm256_fmadd_ps(x5, a, b);
    y0 = _mm256_fmadd_ps(y0, a, b);
    y1 = _mm256_fmadd_ps(y1, a, b);
    y2 = _mm256_fmadd_ps(y2, a, b);
    y3 = _mm256_fmadd_ps(y3, a, b);
    y4 = _mm256_fmadd_ps(y4, a, b);
    y5 = _mm256_fmadd_ps(y5, a, b);
    __asm__ volatile("" : "+x"(x0), "+x"(x1), "+x"(x2), "+x"(x3), "+x"(x4), "+x"(x5));
    __asm__ volatile("" : "+x"(y0), "+x"(y1), "+x"(y2), "+x"(y3), "+x"(y4), "+x"(y5));
  }
  const __m256 sum =
      _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(x0, x1), _mm256_add_ps(x2, x3)),
                    _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(x4, x5), _mm256_add_ps(y0, y1)),
                                  _mm256_add_ps(_mm256_add_ps(y2, y3), _mm256_add_ps(y4, y5))));
  return _mm_cvtss_f32(_mm256_castps256_ps128(sum));
}

__attribute__((target("avx512f"), noinline)) float read_loop_avx512(const float* data,
                                                                    std::int64_t count) {
  __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (std::int64_t i = 0; i + 128 <= count; i += 128) {
    s0 = _mm512_add_ps(s0, _mm512_loadu_ps(data + i));
    s1 = _mm512_add_ps(s1, _mm512_loadu_ps(data + i + 16));
    s2 = _mm512_add_ps(s2, _mm512_loadu_ps(data + i + 32));
    s3 = _mm512_add_ps(s3, _mm512_loadu_ps(data + i + 48));
    s4 = _mm512_add_ps(s4, _mm512_loadu_ps(data + i + 64));
    s5 = _mm512_add_ps(s5, _mm512_loadu_ps(data + i + 80));
    s6 = _mm512_add_ps(s6, _mm512_loadu_ps(data + i + 96));
    s7 = _mm512_add_ps(s7, _mm512_loadu_ps(data + i + 112));
  }
  const __m512 sum = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3)),
                                   _mm512_add_ps(_mm512_add_ps(s4, s5), _mm512_add_ps(s6, s7)));
  float lanes[16];
  _mm512_storeu_ps(lanes, sum);
  return lanes[0];
}

__attribute__((target("avx2"), noinline)) float read_loop_avx2(const float* data,
                                                               std::int64_t count) {
  __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (std::int64_t i = 0; i + 64 <= count; i += 64) {
    s0 = _mm256_add_ps(s0, _mm256_loadu_ps(data + i));
    s1 = _mm256_add_ps(s1, _mm256_loadu_ps(data + i + 8));
    s2 = _mm256_add_ps(s2, _mm256_loadu_ps(data + i + 16));
    s3 = _mm256_add_ps(s3, _mm256_loadu_ps(data + i + 24));
    s4 = _mm256_add_ps(s4, _mm256_loadu_ps(data + i + 32));
    s5 = _mm256_add_ps(s5, _mm256_loadu_ps(data + i + 40));
    s6 = _mm256_add_ps(s6, _mm256_loadu_ps(data + i + 48));
    s7 = _mm256_add_ps(s7, _mm256_loadu_ps(data + i + 56));
  }
  const __m256 sum = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)),
                                   _mm256_add_ps(_mm256_add_ps(s4, s5), _mm256_add_ps(s6, s7)));
  return _mm_cvtss_f32(_mm256_castps256_ps128(sum));
}

#endif

typedef float Vector4 __attribute__((vector_size(16)));

__attribute__((noinline)) float multiply_add_loop(std::int64_t steps, float a_in, float b_in) {
  const Vector4 a = {a_in, a_in, a_in, a_in};
  const Vector4 b = {b_in, b_in, b_in, b_in};
  Vector4 x[8] = {a, a, a, a, b, b, b, b};
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 8
    for (Vector4& value : x) {
      value = value * a + b;
#if defined(__x86_64__)
      __asm__ volatile("" : "+x"(value));
#endif
    }
  }
  float sum = 0;
  for (const Vector4& value : x)
    sum += value[0];
  return sum;
}

__attribute__((noinline)) float read_loop(const float* data, std::int64_t count) {
  Vector4 sum[8] = {};
  for (std::int64_t i = 0; i + 32 <= count; i += 32) {
    for (int j = 0; j < 8; ++j) {
      sum[j] += *reinterpret_cast<const Vector4*>(data + i + std::int64_t{4} * j);
    }
  }
  float total = 0;
  for (const Vector4& value : sum)
    total += value[0];
  return total;
}

volatile float sink = 0;

struct FmaLoop {
  float (*run)(std::int64_t, float, float);
  double flop_per_step;
};

FmaLoop fma_loop(VectorIsa isa) {
#if defined(__x86_64__)
  if (isa == VectorIsa::avx512) {
    return {fma_loop_avx512, 16 * 16 * 2};
  }
  if (isa == VectorIsa::avx2_fma) {
    return {fma_loop_avx2, 12 * 8 * 2};
  }
#endif
  (void)isa;
  return {multiply_add_loop, 8 * 4 * 2};
}

float read_once(const float* data, std::int64_t count) {
#if defined(__x86_64__)
  switch (host_vector_isa()) {
  case VectorIsa::avx512:
    return read_loop_avx512(data, count);
  case VectorIsa::avx2_fma:
    return read_loop_avx2(data, count);
  case VectorIsa::sse2:
    break;
  }
#endif
  return read_loop(data, count);
}

}  // namespace

VectorIsa host_vector_isa() {
  static const VectorIsa isa = vector_isa_of(host_target());
  return isa;
}

VectorIsa vector_isa_of(const Target& target) {
  return target.vector_bits >= 512                     ? VectorIsa::avx512
         : target.vector_bits >= 256 && target.has_fma ? VectorIsa::avx2_fma
                                                       : VectorIsa::sse2;
}

const char* to_string(VectorIsa isa) {
  return isa == VectorIsa::avx512 ? "avx512" : isa == VectorIsa::avx2_fma ? "avx2+fma" : "sse2";
}

double measure_peak_gflops(VectorIsa isa, int bursts) {
  const FmaLoop loop = fma_loop(isa);
  SteadyClock clock;
  volatile float a = 0.999F;
  volatile float b = 0.001F;
  std::int64_t steps = 20'000;
  double best = 0;
  for (int burst = -1; burst < bursts; ++burst) {
    const double begin = clock();
    sink = loop.run(steps, a, b);
    const double elapsed = std::max(clock() - begin, 1.0);
    if (burst < 0) {  // sizes the bursts and wakes the wide units
      steps = std::max<std::int64_t>(
          static_cast<std::int64_t>(static_cast<double>(steps) * 5e5 / elapsed), 1000);
      continue;
    }
    best = std::max(best, static_cast<double>(steps) * loop.flop_per_step / elapsed);
  }
  return best;
}

double measure_read_gbps(std::int64_t bytes, double budget_ms) {
  AlignedBuffer buffer(std::max<std::int64_t>(bytes / 4, 128));
  const std::int64_t count = buffer.size() / 128 * 128;
  SteadyClock clock;
  sink = read_once(buffer.data(), count);
  const double begin_all = clock();
  double best = 0;
  const std::int64_t repeats = std::max<std::int64_t>(1, (std::int64_t{4} << 20) / (4 * count));
  do {
    const double begin = clock();
    for (std::int64_t i = 0; i < repeats; ++i)
      sink = read_once(buffer.data(), count);
    const double elapsed = std::max(clock() - begin, 1.0);
    best = std::max(best, 4.0 * static_cast<double>(count * repeats) / elapsed);
  } while (clock() - begin_all < budget_ms * 1e6);
  return best;
}

Roofline measure_roofline(const HostInfo& host) {
  Roofline r;
  r.l1_bytes = host.caches.l1d_bytes.value_or(32 * 1024);
  r.l2_bytes = host.caches.l2_bytes.value_or(r.l1_bytes);
  r.l3_bytes = host.caches.l3_bytes.value_or(r.l2_bytes);
  r.peak_gflops = measure_peak_gflops();
  r.l1_gbps = measure_read_gbps(r.l1_bytes / 2);
  r.l2_gbps = measure_read_gbps(r.l2_bytes / 2);
  r.l3_gbps = measure_read_gbps(std::min(r.l3_bytes / 2, std::max(4 * r.l2_bytes, r.l3_bytes / 4)));
  r.dram_gbps = measure_read_gbps(std::max<std::int64_t>(3 * r.l3_bytes, 64 << 20), 40);
  // A slow moment while an inner level was measured must not turn the bound around.
  r.l3_gbps = std::max(r.l3_gbps, r.dram_gbps);
  r.l2_gbps = std::max(r.l2_gbps, r.l3_gbps);
  r.l1_gbps = std::max(r.l1_gbps, r.l2_gbps);
  r.source = "measured";
  return r;
}

double roofline_ns(double flop, std::int64_t bytes, const Roofline& m, int threads) {
  TENSORSMITH_ASSERT(threads >= 1 && m.peak_gflops > 0, "a roofline needs a peak and threads");
  const auto beyond = [&](std::int64_t capacity) {
    return static_cast<double>(std::max<std::int64_t>(bytes - capacity, 0));
  };
  const auto cores = static_cast<double>(threads);
  double ns = flop / (m.peak_gflops * cores);
  const auto bound = [&](double traffic, double gbps) {
    if (gbps > 0) {
      ns = std::max(ns, traffic / gbps);
    }
  };
  bound(static_cast<double>(bytes), m.l1_gbps * cores);
  bound(beyond(m.l1_bytes * threads), m.l2_gbps * cores);
  bound(beyond(m.l2_bytes * threads), m.l3_gbps * cores);
  bound(beyond(m.l3_bytes), m.dram_gbps * cores);
  return ns;
}

double Calibration::moved() const {
  return before_gflops > 0 ? std::abs(after_gflops - before_gflops) / before_gflops : INFINITY;
}

}  // namespace tensorsmith::bench
