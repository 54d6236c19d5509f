// SPDX-License-Identifier: Apache-2.0
// What the analytic models of GPUs assume, and how times of parts become one.
//
// Floor 6. Own design. Part of gpu_latency.hpp.
#pragma once

#include "tensorsmith/cost/gpu_work.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

struct GpuModelOptions {
  GpuDelays delays;
  /// Of a kernel that follows another one: in a graph, as our trials are measured (H200: 23 kernels
  /// that do next to nothing take 0.95 to 1.2 us, 0.35 of it their loads), and in a stream.
  static constexpr double graph_launch_ns = 700, stream_launch_ns = 2000;
  double launch_ns = graph_launch_ns;
  double block_clocks = 300;  ///< to start a block
  /// The whole board starts one block per clock: A100, 16.8 million blocks of an elementwise
  /// program take 12.4 ms whatever they do (0.74 ns each), 8.4, 4.2, 2.1 million in proportion.
  double clocks_between_blocks = 1;
  double l2_bytes_per_clock = 48;  ///< to one SM; A100 whitepaper: 5120 for 108 SMs
  double dram_efficiency = 0.9;    ///< of the board's bandwidth
  double l2_usable = 0.75;         ///< of its size, for data that several waves read
  /// The kernel's text is codegen/cuda_source.hpp's, which says how far serial loops are unrolled;
  /// in other texts, such as the reference's (codegen/reference_unrolling.hpp), the compiler
  /// decides (codegen/compiler_unrolling.hpp).
  bool is_own_text = true;
};

namespace detail {

/// The largest of several times and a little of the others: nothing overlaps perfectly. Grows with
/// each of them.
template <class... Times>
double overlapped(Times... times) {
  double sum = 0;
  ((sum += times * times * times * times), ...);
  return math::sqrt(math::sqrt(sum));
}

}  // namespace detail
}  // namespace tensorsmith
