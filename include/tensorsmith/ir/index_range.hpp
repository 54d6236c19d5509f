// SPDX-License-Identifier: Apache-2.0
// Ranges of integer index expressions under loops that start at 0.
//
// Floor 1. Own design. Interval arithmetic in 64 bits: a range whose ends overflow is not known.
// Not here: affine forms (affine.hpp), bounds of the reference's precision (ir/algebra/bounds.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith {

/// Loop variables run over [0, extent). 0 = unknown.
class VarExtents {
 public:
  void set(VarId var, std::int64_t extent) {
    if (var.value >= extents_.size()) {
      extents_.resize(var.value + 1, 0);
    }
    extents_[var.value] = extent;
  }
  std::int64_t operator[](VarId var) const {
    return var.value < extents_.size() ? extents_[var.value] : 0;
  }
  /// Whether quotients are reduced: (4*x + v) floordiv 16 is x floordiv 4 for v in 0 .. 3.
  void reduce_quotients() { reduces_quotients_ = true; }
  bool reduces_quotients() const { return reduces_quotients_; }

 private:
  std::vector<std::int64_t> extents_;
  bool reduces_quotients_ = false;
};

struct IntRange {
  std::int64_t min = 0, max = 0;  ///< inclusive
  double width() const { return static_cast<double>(max) - static_cast<double>(min) + 1; }
};

/// Ranges of results; nothing where one of its ends overflows, since values wrap there.
inline std::optional<IntRange> sum_of(IntRange a, IntRange b) {
  IntRange sum;
  const bool overflows = __builtin_add_overflow(a.min, b.min, &sum.min) ||
                         __builtin_add_overflow(a.max, b.max, &sum.max);
  return overflows ? std::nullopt : std::optional(sum);
}
inline std::optional<IntRange> difference_of(IntRange a, IntRange b) {
  IntRange difference;
  const bool overflows = __builtin_sub_overflow(a.min, b.max, &difference.min) ||
                         __builtin_sub_overflow(a.max, b.min, &difference.max);
  return overflows ? std::nullopt : std::optional(difference);
}
inline std::optional<IntRange> multiple_of(IntRange a, std::int64_t factor) {
  IntRange product;
  const bool overflows =
      __builtin_mul_overflow(factor >= 0 ? a.min : a.max, factor, &product.min) ||
      __builtin_mul_overflow(factor >= 0 ? a.max : a.min, factor, &product.max);
  return overflows ? std::nullopt : std::optional(product);
}

/// Conservative range of an integer expression; nothing if unknown.
inline std::optional<IntRange> range_of(const ExprPool& pool, const VarExtents& extents,
                                        ExprId id) {
  const ExprNode& node = pool[id];
  if (const auto* imm = std::get_if<IntImm>(&node.op)) {
    return IntRange{imm->value, imm->value};
  }
  if (const auto* ref = std::get_if<VarRef>(&node.op)) {
    const std::int64_t extent = extents[ref->var];
    return extent > 0 ? std::optional<IntRange>(IntRange{0, extent - 1}) : std::nullopt;
  }
  if (const auto* call = std::get_if<Binary>(&node.op)) {
    const auto a = range_of(pool, extents, call->a);
    const auto b = range_of(pool, extents, call->b);
    const bool both = a && b;
    switch (call->op) {
    case BinaryOp::add:
      return both ? sum_of(*a, *b) : std::nullopt;
    case BinaryOp::sub:
      return both ? difference_of(*a, *b) : std::nullopt;
    case BinaryOp::mul:
      if (both && b->min == b->max) {
        return multiple_of(*a, b->min);
      }
      if (both && a->min == a->max) {
        return multiple_of(*b, a->min);
      }
      return std::nullopt;
    case BinaryOp::floordiv:
      if (both && b->min == b->max && b->min > 0) {
        return IntRange{floor_div(a->min, b->min), floor_div(a->max, b->min)};
      }
      return std::nullopt;
    case BinaryOp::floormod:
      if (b && b->min == b->max && b->min > 0) {
        if (a && floor_div(a->min, b->min) == floor_div(a->max, b->min)) {
          return IntRange{floor_mod(a->min, b->min), floor_mod(a->max, b->min)};
        }
        return IntRange{0, b->min - 1};
      }
      return std::nullopt;
    case BinaryOp::min:
      return both ? std::optional(IntRange{a->min < b->min ? a->min : b->min,
                                           a->max < b->max ? a->max : b->max})
                  : std::nullopt;
    case BinaryOp::max:
      return both ? std::optional(IntRange{a->min > b->min ? a->min : b->min,
                                           a->max > b->max ? a->max : b->max})
                  : std::nullopt;
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace tensorsmith
