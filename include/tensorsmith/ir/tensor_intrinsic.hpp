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
// (docs/steps/PR.md), emission (lib/cpu/tensor_emit.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tensorsmith/ir/dtype.hpp"

namespace tensorsmith {

struct Target;

/// A function of LLVM for vectors of `lanes` accumulators: (accumulators, a, b) -> accumulators.
/// Operands are `lanes` groups of k elements, in whatever vector type the function takes.
struct LlvmDot {
  std::int32_t lanes = 0;
  std::string_view function;
};

/// acc[i, j] = acc[i, j] + sum over g < k of a[i, g] * b[g, j], for i < m and j < n. Operands are
/// converted to the accumulator's type before they are multiplied.
/// CPUs (`dots` not empty): m = 1, n = the lanes of a vector; a group of k elements lies in the
/// lane of its accumulator; the operand that all lanes share is broadcast. k elements take as many
/// bytes as an accumulator.
/// CUDA (`ptx` not empty): a warp of 32 threads computes m x n x k. Element r of a thread's
/// accumulators (r < m * n / 32) is row lane / 4 + 8 * (r / 2), column 2 * (lane % 4) + r % 2.
/// Operands are read from shared memory, a with rows along k; in registers of 32 bits, of which
/// thread `lane` holds row lane / 4 (+ 8) of a, column lane / 4 of b, and elements 4 / bytes *
/// (lane % 4) and on along k (+ 16 / bytes).
struct TensorIntrinsic {
  std::string_view name = {};
  DType a = DType::f32, b = DType::f32, accumulator = DType::f32;  ///< in memory
  std::int32_t m = 1, n = 0, k = 1;
  /// What is added to every element of a so that the instruction can take it (128: signed bytes
  /// for an unsigned operand). Lowering takes a_offset * sum(b) off again; integers only.
  std::int32_t a_offset = 0;
  std::array<LlvmDot, 3> dots{};
  std::string_view ptx = {};  ///< the instruction's name, "mma.sync.aligned.m16n8k16..."
  /// Whether code for the target may contain it.
  bool (*is_available)(const Target& target) = nullptr;
};

}  // namespace tensorsmith
