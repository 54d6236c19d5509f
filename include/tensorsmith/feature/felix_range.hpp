// SPDX-License-Identifier: Apache-2.0
// FelixRanges: closed ranges of index expressions by Felix's rules.
//
// Floor 5. Felix, ch. 3.1. Sums, products, minima and maxima go by both ends, differences and
// quotients cross them, a remainder runs up to its divisor whatever is divided; factors and
// divisors count as positive. Variables of one name have one range: the loops over one kind of
// thread. Not here: bounds that always hold (ir/algebra/bounds.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith::detail {

struct FelixRange {
  std::int64_t min = 0, max = 0;

  bool is_point() const { return min == max; }
  double width() const { return static_cast<double>(max) - static_cast<double>(min) + 1; }
};

class FelixRanges {
 public:
  explicit FelixRanges(const algebra::Pool& pool) : pool_(&pool) {}

  void bind(std::int32_t var, FelixRange range) {
    const auto at = static_cast<std::size_t>(var);
    if (at >= ranges_.size()) {
      ranges_.resize(at + 1);
    }
    ranges_[at] = range;
  }
  /// False once a range was asked for that these rules do not know: of an expression that loads,
  /// calls or compares. Felix refuses such programs; here its values are guessed.
  bool is_known() const { return is_known_; }

  FelixRange operator()(algebra::Ref ref) const {
    const algebra::Node& node = (*pool_)[ref];
    switch (node.op) {
    case algebra::Op::integer:
      return {node.value, node.value};
    case algebra::Op::var:
      return static_cast<std::size_t>(node.value) < ranges_.size()
                 ? ranges_[static_cast<std::size_t>(node.value)]
                 : unknown({});
    case algebra::Op::cast:
      return (*this)(node.a);
    case algebra::Op::select:
      return hull((*this)(node.b), (*this)(node.c));
    case algebra::Op::if_then_else:
      return unknown(hull((*this)(node.b), (*this)(node.c)));
    default:
      break;
    }
    if (node.op < algebra::Op::add || node.op > algebra::Op::max) {
      return unknown(algebra::is_binary(node.op) ? FelixRange{0, 1} : FelixRange{});
    }
    return binary(node.op, (*this)(node.a), (*this)(node.b));
  }

 private:
  FelixRange unknown(FelixRange guess) const {
    is_known_ = false;
    return guess;
  }
  static FelixRange hull(FelixRange a, FelixRange b) {
    return {smaller_of(a.min, b.min), larger_of(a.max, b.max)};
  }
  FelixRange binary(algebra::Op op, FelixRange a, FelixRange b) const {
    switch (op) {
    case algebra::Op::add:
      return {wrapping_add(a.min, b.min), wrapping_add(a.max, b.max)};
    case algebra::Op::sub:
      return {wrapping_sub(a.min, b.max), wrapping_sub(a.max, b.min)};
    case algebra::Op::mul:
      return {wrapping_mul(a.min, b.min), wrapping_mul(a.max, b.max)};
    case algebra::Op::min:
      return {smaller_of(a.min, b.min), smaller_of(a.max, b.max)};
    case algebra::Op::max:
      return {larger_of(a.min, b.min), larger_of(a.max, b.max)};
    case algebra::Op::truncmod:
    case algebra::Op::floormod:
      return a.is_point() && a.min == 0 ? FelixRange{} : FelixRange{0, wrapping_sub(b.max, 1)};
    default:
      return b.min == 0 || b.max == 0
                 ? unknown({})
                 : FelixRange{floor_div(a.min, b.max), floor_div(a.max, b.min)};
    }
  }

  const algebra::Pool* pool_;
  std::vector<FelixRange> ranges_;  ///< by variable
  mutable bool is_known_ = true;
};

}  // namespace tensorsmith::detail
