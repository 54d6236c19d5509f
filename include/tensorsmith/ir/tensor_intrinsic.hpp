// SPDX-License-Identifier: Apache-2.0
// TensorIntrinsic: an instruction that does the work of a few loops, as data.
//
// Floor 1. Own design (docs/decisions/0008-tensor-intrinsics.md). A description says which loops
// it covers, the types and places of its operands, and what code generation writes for it. The
// loops themselves stay in the program: they are what it means, what the interpreter runs and what
// is compiled where the instruction cannot be used. So a description that is wrong about the order
// of a sum changes roundings, never which terms are added.
//     for g in 2 as vdpbf16ps: for i in 6 unrolled: for j in 32 vectorized:
//       C.acc[i, j] = C.acc[i, j] + f32(A[i, 2*k + g])*f32(B[2*k + g, j])
// Users describe their own in a header and add it to Target::intrinsics. Not here: the known ones
// (lower/known_intrinsics.hpp), which statements fit (ir/tensor_match.hpp), schedules
// (docs/steps/PR.md), emission (lib/cpu/tensor_emit.cpp, lib/cpu/tile_emit.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tensorsmith/ir/dtype.hpp"

namespace tensorsmith {

struct Target;

/// A function of LLVM for vectors of `lanes` accumulators: (accumulators, a, b) -> accumulators, or
/// (a, b) -> sums of the groups, which are added to them.
/// Operands are `lanes` groups of k elements, in whatever vector type the function takes.
struct LlvmDot {
  std::int32_t lanes = 0;
  std::string_view function;
};

/// What code generation calls for tile registers: 8 of them, each of 16 rows of 64 bytes. A name
/// that begins with "llvm." is an intrinsic of LLVM, another one a function with the same
/// parameters. Numbers of tiles are bytes, of constant value.
struct TileFunctions {
  std::string_view configure;  ///< (pointer to 64 bytes as LDTILECFG reads them); before all others
  std::string_view release;    ///< (); behind all others
  std::string_view zero;       ///< (tile)
  std::string_view load, store;  ///< (tile, pointer to the first row, bytes from row to row)
  std::string_view dot;          ///< (accumulators, a, b)
};

/// Whether rows x columns tiles of accumulators find room beside operands: all of the shorter side,
/// and one of the longer side at a time.
constexpr bool fits_tile_registers(std::int64_t rows, std::int64_t columns) {
  return rows >= 1 && columns >= 1 && rows * columns + (rows < columns ? rows : columns) + 1 <= 8;
}

/// acc[i, j] = acc[i, j] + sum over g < k of a[i, g] * b[g, j], for i < m and j < n. Operands are
/// converted to the accumulator's type before they are multiplied.
/// CPUs (`dots` not empty): m = 1, n = the lanes of a vector; a group of k elements lies in the
/// lane of its accumulator; the operand that all lanes share is broadcast. k elements take as many
/// bytes as an accumulator. If it `widens`, operands in memory may be of narrower integer types,
/// all of whose values are values of a (or b); they are extended as they are loaded. CPUs (`tile`
/// not empty): accumulators of m x n are a tile register. Row i of operand a is k elements that
/// follow each other; of operand b groups of group() elements along k lie in the lanes of their
/// accumulators, k / group() rows of them. Accumulators stay in tiles while a loop does nothing
/// else. CUDA (`ptx` not empty): a warp of 32 threads computes m x n x k. Element r of a thread's
/// accumulators (r < m * n / 32) is row lane / 4 + 8 * (r / 2), column 2 * (lane % 4) + r % 2.
/// Operands are read from shared memory, a with rows along k; in registers of 32 bits, of which
/// thread `lane` holds row lane / 4 (+ 8) of a, column lane / 4 of b, and elements 4 / bytes
/// * (lane % 4) and on along k (+ 16 / bytes). With `warps` = 4 they compute it together, warp w of
/// them rows 16 * w to 16 * w + 15 in the same form; operands are read where they lie, in lines of
/// 128 bytes of shared memory (Buffer::is_swizzled).
struct TensorIntrinsic {
  std::string_view name = {};
  DType a = DType::f32, b = DType::f32, accumulator = DType::f32;  ///< in memory
  std::int32_t m = 1, n = 0, k = 1;
  std::int32_t warps = 1;  ///< that follow each other in a block and compute it together
  /// What is added to every element of a so that the instruction can take it (128: signed bytes
  /// for an unsigned operand). Lowering takes a_offset * sum(b) off again; integers only.
  std::int32_t a_offset = 0;
  bool widens = false;
  std::array<LlvmDot, 3> dots{};
  std::string_view ptx = {};  ///< the instruction's name, "mma.sync.aligned.m16n8k16..."
  TileFunctions tile{};
  /// Whether code for the target may contain it.
  bool (*is_available)(const Target& target) = nullptr;

  /// Whether operand a (or b, as `wanted` says) may be elements of `type` in memory.
  constexpr bool takes(DType wanted, DType type) const {
    return type == wanted || (widens && is_integer(wanted) && is_integer(type) &&
                              limits_of(type).low >= limits_of(wanted).low &&
                              limits_of(type).high <= limits_of(wanted).high);
  }
  bool has_tiles() const { return !tile.dot.empty(); }
  /// Elements of operand b along k that lie together.
  std::int32_t group() const { return has_tiles() ? bytes_of(accumulator) / bytes_of(b) : k; }
};

}  // namespace tensorsmith
