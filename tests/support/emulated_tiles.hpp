// SPDX-License-Identifier: Apache-2.0
// Descriptions of AMX's products that any machine computes, and targets that have them.
#pragma once

#include "lib/cpu/tile_emulation.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"

namespace tensorsmith::test {

inline constexpr TensorIntrinsic emulated_tdpbf16ps =
    emulated(tdpbf16ps, "tensorsmith_tile_dot_bf16");
inline constexpr TensorIntrinsic emulated_tdpfp16ps =
    emulated(tdpfp16ps, "tensorsmith_tile_dot_f16");
inline constexpr TensorIntrinsic emulated_tdpbssd = emulated(tdpbssd, "tensorsmith_tile_dot_s8");
inline constexpr TensorIntrinsic emulated_tdpbusd = emulated(tdpbusd, "tensorsmith_tile_dot_u8");
inline constexpr const TensorIntrinsic* emulated_tiles[] = {
    &emulated_tdpbf16ps, &emulated_tdpfp16ps, &emulated_tdpbssd, &emulated_tdpbusd};

/// A machine that has them, whose code this one can run as well. What the analytic model thinks of
/// it is the same everywhere: the rates and caches of a processor that has them.
inline Target with_emulated_tiles(Target target = host_target()) {
  target.llvm_tune = "sapphirerapids";
  target.caches = {48 << 10, 2 << 20, 32 << 20, 1};
  target.intrinsics.assign(std::begin(emulated_tiles), std::end(emulated_tiles));
  return target;
}

}  // namespace tensorsmith::test
