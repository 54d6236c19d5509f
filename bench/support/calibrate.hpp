// SPDX-License-Identifier: Apache-2.0
// What this core can do right now: peak FMA rate and cache bandwidths, and the roofline from them.
//
// Own design. The FMA loop holds 16 (AVX-512), 12 (AVX2) or 8 (SSE2, multiply and add) independent
// accumulators in registers and touches no memory. Not here: contestants.
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/host.hpp"

namespace tensorsmith::bench {

enum class VectorIsa : std::uint8_t { sse2, avx2_fma, avx512 };
/// The widest one that both the CPU and this file have code for.
VectorIsa host_vector_isa();
/// The one that code for `target` is limited to; this machine must have it.
VectorIsa vector_isa_of(const Target& target);
const char* to_string(VectorIsa isa);

/// Best single-core f32 rate over `bursts` bursts of about 0.5 ms, in GFLOP/s (flop per ns).
double measure_peak_gflops(VectorIsa isa, int bursts = 6);
inline double measure_peak_gflops() { return measure_peak_gflops(host_vector_isa()); }

/// Best single-core read bandwidth of a buffer of `bytes`, read again and again, in GB/s.
double measure_read_gbps(std::int64_t bytes, double budget_ms = 10);

/// Rates of one core. All of them are scaled by the number of threads, which no shared level
/// exceeds, so the bound stays a bound.
struct Roofline {
  double peak_gflops = 0;
  double l1_gbps = 0, l2_gbps = 0, l3_gbps = 0, dram_gbps = 0;
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  std::string source;  ///< "measured" or where the numbers were stated

  bool operator==(const Roofline&) const = default;
};

/// Measures every rate (about 60 ms). A cache size that is not known gets the next smaller level's.
Roofline measure_roofline(const HostInfo& host);

/// Lower bound of a warm run: max of flop / peak and, level by level, of the compulsory bytes that
/// the inner levels cannot hold / bandwidth. A result below it is a bug if `flop` is the least
/// that the algorithm has to do (ProblemSizes::least_flop).
double roofline_ns(double flop, std::int64_t bytes, const Roofline& machine, int threads = 1);

/// Calibration before and after a group of measurements.
struct Calibration {
  double before_gflops = 0, after_gflops = 0;
  /// |after - before| / before.
  double moved() const;
  /// Groups that moved more than 3 % are dropped.
  bool is_stable(double limit = 0.03) const { return moved() <= limit; }
  double gflops() const { return (before_gflops + after_gflops) / 2; }
};

}  // namespace tensorsmith::bench
