// SPDX-License-Identifier: Apache-2.0
// Tile registers in software: programs that use AMX can be run and checked on machines without it.
//
// Own design, for tests. Source: Intel 64 Software Developer's Manual, vol. 2 (LDTILECFG,
// TILELOADD, TDPBF16PS, TDPFP16PS, TDPBSSD, TDPBUSD). Code that JitKernel loads finds the functions
// by their names. Every thread has tiles of its own. Hundreds of times slower than the loops that
// they stand for.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensorsmith/ir/tensor_intrinsic.hpp"

namespace tensorsmith {

/// How often each function was called by all threads since reset_tile_counts().
struct TileCounts {
  std::int64_t configure = 0, release = 0, zero = 0, load = 0, store = 0, dot = 0;
  /// Uses of tiles that were not configured, of tiles that do not exist, with other shapes than 16
  /// rows of 64 bytes: faults on a processor.
  std::int64_t fault = 0;
  bool operator==(const TileCounts&) const = default;
};
TileCounts tile_counts();
void reset_tile_counts();

/// The names under which JitKernel finds the functions.
constexpr TileFunctions emulated_tile_functions(std::string_view dot) {
  return {.configure = "tensorsmith_tile_configure",
          .release = "tensorsmith_tile_release",
          .zero = "tensorsmith_tile_zero",
          .load = "tensorsmith_tile_load",
          .store = "tensorsmith_tile_store",
          .dot = dot};
}

/// A description that is computed by these functions, on any CPU: of tdpbf16ps, tdpfp16ps, tdpbssd
/// or tdpbusd. `dot` ends in its name: "tensorsmith_tile_dot_bf16", "..._f16", "..._s8", "..._u8".
constexpr TensorIntrinsic emulated(TensorIntrinsic intrinsic, std::string_view dot) {
  intrinsic.tile = emulated_tile_functions(dot);
  intrinsic.is_available = [](const Target&) { return true; };
  return intrinsic;
}

namespace tile_emulation {

struct Function {
  const char* name;
  void* address;
};
struct FunctionList {
  const Function* first;
  std::int64_t count;
};
FunctionList functions();

}  // namespace tile_emulation
}  // namespace tensorsmith
