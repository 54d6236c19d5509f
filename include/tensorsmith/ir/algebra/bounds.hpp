// SPDX-License-Identifier: Apache-2.0
// Bounds: the least and the greatest value of an expression, as far as constants say.
//
// Floor 1. Own design; the precision is that of the reference: operand by operand, without
// correlations, an unbound variable has any value of its type, and a condition that holds narrows
// exactly the expression that it compares with a constant. INT64_MAX and -INT64_MAX stand for
// unlimited.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/ir/algebra/remembered.hpp"

namespace tensorsmith::algebra {

constexpr std::int64_t unlimited = INT64_MAX;

struct Bound {
  std::int64_t min = -unlimited, max = unlimited;  ///< inclusive
  bool operator==(const Bound&) const = default;
  bool is_constant() const { return min == max; }
};

inline Bound bound_of(DType type) {
  if (type == DType::i64 || is_float(type)) {
    return {};
  }
  return {limits_of(type).low, limits_of(type).high};
}
inline Bound intersection(Bound a, Bound b) {
  return {larger_of(a.min, b.min), smaller_of(a.max, b.max)};
}
inline Bound hull(Bound a, Bound b) { return {smaller_of(a.min, b.min), larger_of(a.max, b.max)}; }

namespace detail {

inline bool is_unlimited(std::int64_t x) { return x == unlimited || x == -unlimited; }
inline std::int64_t limited_sum(std::int64_t x, std::int64_t y) {
  if (is_unlimited(x)) {
    return x;
  }
  std::int64_t sum = 0;
  if (is_unlimited(y)) {
    return y;
  }
  if (__builtin_add_overflow(x, y, &sum) || sum < -unlimited) {
    return x > 0 ? unlimited : -unlimited;
  }
  return sum;
}
inline std::int64_t limited_product(std::int64_t x, std::int64_t y) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(x, y, &product) && product >= -unlimited) {
    return product;
  }
  return (x > 0) == (y > 0) ? unlimited : -unlimited;
}
inline std::int64_t limited_quotient(std::int64_t x, std::int64_t y, bool floors) {
  if (is_unlimited(x)) {
    return y > 0 ? x : -x;
  }
  return floors ? floor_div(x, y) : x / y;
}
/// Of an operation that is monotonic in each operand.
template <class Operation>
Bound corner_hull(Bound a, Bound b, const Operation& operation) {
  const std::int64_t v[] = {operation(a.min, b.min), operation(a.max, b.max),
                            operation(a.min, b.max), operation(a.max, b.min)};
  Bound result{v[0], v[0]};
  for (std::int64_t x : v) {
    result = hull(result, {x, x});
  }
  return result;
}

}  // namespace detail

class Bounds {
 public:
  /// `known`: what other bounds of the pool remember, too, so that all share the memory.
  Bounds(const Pool& pool, Remembered<Bound>& known)
      : pool_(pool), known_(known), version_(pool.new_version()) {}

  void bind(std::int32_t var, Bound values) {
    if (static_cast<std::size_t>(var) >= of_var_.size()) {
      of_var_.resize(pool_.num_vars());
    }
    of_var_[static_cast<std::size_t>(var)] = {true, values};
    forget();
  }
  /// Within min and min + extent - 1.
  void bind(std::int32_t var, Ref min, Ref extent) {
    const Bound first = (*this)(min), count = (*this)(extent);
    bind(var, {first.min, detail::limited_sum(first.max, detail::limited_sum(count.max, -1))});
  }
  std::size_t num_conditions() const { return conditions_.size(); }
  void add_condition(Ref expression, Bound values) {
    conditions_.emplace_back(expression, values);
    forget();
  }
  /// Back to the first `count`.
  void drop_conditions(std::size_t count) {
    conditions_.resize(count);
    forget();
  }

  Bound operator()(Ref ref) const {
    const Node& node = pool_[ref];
    if (node.op == Op::integer) {
      return {node.value, node.value};
    }
    if (const Bound* known = known_.find(ref, version_)) {
      return *known;
    }
    Bound result = of_node(node);
    for (const auto& [expression, values] : conditions_) {
      if (expression == ref) {
        result = intersection(result, values);
      }
    }
    known_.set(ref, version_, result);
    return result;
  }

 private:
  struct VarEntry {
    bool is_bound = false;
    Bound values;
  };
  void forget() { version_ = pool_.new_version(); }

  Bound of_node(const Node& node) const {
    switch (node.op) {
    case Op::var: {
      const auto number = static_cast<std::size_t>(node.value);
      return number < of_var_.size() && of_var_[number].is_bound ? of_var_[number].values
                                                                 : bound_of(node.dtype);
    }
    case Op::add: {
      const Bound a = (*this)(node.a), b = (*this)(node.b);
      return {detail::limited_sum(a.min, b.min), detail::limited_sum(a.max, b.max)};
    }
    case Op::sub: {
      const Bound a = (*this)(node.a), b = (*this)(node.b);
      return {detail::limited_sum(a.min, -b.max), detail::limited_sum(a.max, -b.min)};
    }
    case Op::mul:
      return detail::corner_hull((*this)(node.a), (*this)(node.b), detail::limited_product);
    case Op::div:
    case Op::floordiv:
      return quotient(node, (*this)(node.a), divisor(node.b));
    case Op::truncmod:
    case Op::floormod:
      return remainder(node, (*this)(node.a), divisor(node.b));
    case Op::min: {
      const Bound a = (*this)(node.a), b = (*this)(node.b);
      return {smaller_of(a.min, b.min), smaller_of(a.max, b.max)};
    }
    case Op::max: {
      const Bound a = (*this)(node.a), b = (*this)(node.b);
      return {larger_of(a.min, b.min), larger_of(a.max, b.max)};
    }
    case Op::select:
      return hull((*this)(node.b), (*this)(node.c));
    case Op::cast:
      return intersection((*this)(node.a), bound_of(node.dtype));
    default:
      return bound_of(node.dtype);
    }
  }
  /// Nothing is divided by zero.
  Bound divisor(Ref ref) const {
    Bound b = (*this)(ref);
    b.min = b.min == 0 ? 1 : b.min;
    return b;
  }
  static Bound quotient(const Node& node, Bound a, Bound b) {
    const bool floors = node.op == Op::floordiv;
    const auto operation = [&](std::int64_t x, std::int64_t y) {
      return y == 0 ? x : detail::limited_quotient(x, y, floors);
    };
    if (b.min <= 0 && b.max >= 0) {
      const Bound below = b.min < 0 ? Bound{b.min, -1} : bound_of(node.dtype);
      const Bound above = b.max > 0 ? Bound{1, b.max} : bound_of(node.dtype);
      return hull(detail::corner_hull(a, below, operation),
                  detail::corner_hull(a, above, operation));
    }
    return detail::corner_hull(a, b, operation);
  }
  static Bound remainder(const Node& node, Bound a, Bound b) {
    if (b.min <= 0) {
      if (node.op == Op::truncmod) {
        return bound_of(node.dtype);
      }
      return intersection({smaller_of<std::int64_t>(0, detail::limited_sum(b.min, 1)),
                           larger_of<std::int64_t>(0, detail::limited_sum(b.max, -1))},
                          bound_of(node.dtype));
    }
    const std::int64_t last = detail::limited_sum(b.max, -1);
    if (a.min >= 0) {
      return a.max < b.min ? a : Bound{0, smaller_of(a.max, last)};
    }
    if (node.op == Op::floormod) {
      return {0, last};
    }
    return {larger_of(a.min, -last), smaller_of(larger_of<std::int64_t>(a.max, 0), last)};
  }

  const Pool& pool_;
  Remembered<Bound>& known_;
  std::uint32_t version_;
  std::vector<VarEntry> of_var_;
  std::vector<std::pair<Ref, Bound>> conditions_;
};

}  // namespace tensorsmith::algebra
