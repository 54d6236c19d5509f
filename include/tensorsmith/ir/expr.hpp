// SPDX-License-Identifier: Apache-2.0
// Expression nodes: a closed variant, addressed by typed ids into an ExprPool.
//
// Floor 1. Own design; the node kinds are those of the field (Halide, TVM) without handles to
// memory.
//
// Semantics, written once for interpreter, simplifier and every code generator:
// - Index arithmetic (i32 variables, shapes) is exact: evaluated in 64 bits, and no workload whose
//   extents or strides leave 63 bits is accepted. Element arithmetic of i32/i8/u8/i64 wraps modulo
//   2^bits.
// - floordiv/floormod round towards minus infinity (the remainder has the sign of the divisor); div
//   and truncmod on integers truncate. Division by zero is an error: the interpreter reports it,
//   compiled code may trap.
// - Floats follow IEEE 754 in the element's own width; f16 and bf16 are computed in f32 and rounded
//   once per stored value. A product that feeds an addition may be fused (fma). A loop program is
//   evaluated in its order; lowering to it may add up a row in parts (lower/emit_lanes.hpp).
// - select evaluates both arms; if_then_else only the one that is taken, so it may guard a load.
// - boolean values are 0 or 1. and_/or_ evaluate both sides.
// - min/max of floats return the other operand if one is NaN.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/support/id.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith {

using ExprId = Id<struct ExprTag>;
using VarId = Id<struct VarTag>;
using TensorId = Id<struct TensorTag>;      ///< a tensor of a ComputeDag
using BufferId = Id<struct BufferTag>;      ///< a buffer of a LoopProgram
using CombinerId = Id<struct CombinerTag>;  ///< a reduction operator of an ExprPool

enum class BinaryOp : std::uint8_t {
#define TENSORSMITH_BINARY(name, text, infix) name,
#include "tensorsmith/ir/ops.def"
};
enum class CallOp : std::uint8_t {
#define TENSORSMITH_CALL(name, arity) name,
#include "tensorsmith/ir/ops.def"
};
enum class UnaryOp : std::uint8_t { neg, not_ };

constexpr std::string_view text_of(BinaryOp op) {
  constexpr std::string_view texts[] = {
#define TENSORSMITH_BINARY(name, text, infix) text,
#include "tensorsmith/ir/ops.def"
  };
  return texts[static_cast<std::size_t>(op)];
}
constexpr bool is_infix(BinaryOp op) {
  constexpr bool flags[] = {
#define TENSORSMITH_BINARY(name, text, infix) infix,
#include "tensorsmith/ir/ops.def"
  };
  return flags[static_cast<std::size_t>(op)];
}
constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::eq && op <= BinaryOp::ge; }
constexpr std::string_view name_of(CallOp op) {
  constexpr std::string_view names[] = {
#define TENSORSMITH_CALL(name, arity) #name,
#include "tensorsmith/ir/ops.def"
  };
  return names[static_cast<std::size_t>(op)];
}
constexpr int arity_of(CallOp op) {
  constexpr int arities[] = {
#define TENSORSMITH_CALL(name, arity) arity,
#include "tensorsmith/ir/ops.def"
  };
  return arities[static_cast<std::size_t>(op)];
}

using ExprList = SmallVector<ExprId, 4>;
using VarList = SmallVector<VarId, 4>;

struct IntImm {
  std::int64_t value;
  bool operator==(const IntImm&) const = default;
};
struct FloatImm {
  double value;  // compared by bits: -0.0 and 0.0 are two constants
  bool operator==(const FloatImm& other) const;
};
struct VarRef {
  VarId var;
  bool operator==(const VarRef&) const = default;
};
struct Unary {
  UnaryOp op;
  ExprId a;
  bool operator==(const Unary&) const = default;
};
struct Binary {
  BinaryOp op;
  ExprId a, b;
  bool operator==(const Binary&) const = default;
};
struct Select {
  ExprId condition, if_true, if_false;
  bool operator==(const Select&) const = default;
};
struct Cast {
  ExprId a;
  bool operator==(const Cast&) const = default;
};
struct Call {
  CallOp op;
  ExprList args;
  bool operator==(const Call&) const = default;
};
/// A tensor of the dag at `indices` (one per dimension). Only in te programs.
struct TensorRead {
  TensorId tensor;
  ExprList indices;
  bool operator==(const TensorRead&) const = default;
};
/// A buffer element. Only in loop programs.
struct Load {
  BufferId buffer;
  ExprList indices;
  bool operator==(const Load&) const = default;
};
/// combine over all points of `axes` of `sources`, the `value_index`-th result. Only at the root of
/// a te body; all bodies of a multi-output op share combiner, axes and sources.
struct Reduce {
  CombinerId combiner;
  ExprList sources;
  VarList axes;
  std::uint32_t value_index;
  bool operator==(const Reduce&) const = default;
};

using ExprOp = std::variant<IntImm, FloatImm, VarRef, Unary, Binary, Select, Cast, Call, TensorRead,
                            Load, Reduce>;

struct ExprNode {
  ExprOp op;
  DType dtype;
  bool operator==(const ExprNode&) const = default;
};

/// A reduction operator: results[i] in terms of variables lhs (accumulator) and rhs (new value);
/// identity[i] is a constant expression. One entry per output.
struct Combiner {
  VarList lhs, rhs;
  ExprList results, identity;
  bool operator==(const Combiner&) const = default;
};

inline bool FloatImm::operator==(const FloatImm& other) const {
  return math::bit_cast<std::uint64_t>(value) == math::bit_cast<std::uint64_t>(other.value);
}

}  // namespace tensorsmith
