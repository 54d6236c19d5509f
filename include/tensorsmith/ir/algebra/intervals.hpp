// SPDX-License-Identifier: Apache-2.0
// Intervals: between which expressions the values of an expression lie.
//
// Floor 1. The interval sets of the Ansor reference 0.16, which infer the regions of attached
// stages: ends are expressions of the variables that stand still. A point is known by how it was
// made, not by its ends: the sum of two points is one, an interval whose ends are equal is none.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/analyzer.hpp"

namespace tensorsmith::algebra {

struct Interval {
  Ref min = no_ref, max = no_ref;  ///< no_ref: without end
  bool is_point = false;

  static Interval point(Ref ref) { return {ref, ref, true}; }
  bool is_everything() const { return min == no_ref && max == no_ref; }
};

/// [min, min + extent)
inline Interval interval_of_range(Pool& pool, Ref min, Ref extent) {
  return pool.is_integer(extent, 1)
             ? Interval::point(min)
             : Interval{min, pool.sub(pool.add(extent, min), pool.like(min, 1)), false};
}
inline Interval hull(Pool& pool, const Interval& a, const Interval& b) {
  const auto end = [&](Op op, Ref x, Ref y) {
    return x == no_ref || y == no_ref ? no_ref : pool.binary(op, x, y);
  };
  return {end(Op::min, a.min, b.min), end(Op::max, a.max, b.max), false};
}

/// By variable; those that are not set stand still.
class Intervals {
 public:
  void set(std::int32_t var, const Interval& interval) {
    const auto at = static_cast<std::size_t>(var);
    if (at >= of_var_.size()) {
      of_var_.resize(at + 1);
    }
    size_ += of_var_[at].is_set ? 0 : 1;
    of_var_[at] = {true, interval};
  }
  const Interval* find(std::int64_t var) const {
    const auto at = static_cast<std::size_t>(var);
    return at < of_var_.size() && of_var_[at].is_set ? &of_var_[at].interval : nullptr;
  }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    bool is_set = false;
    Interval interval;
  };
  std::vector<Entry> of_var_;
  std::size_t size_ = 0;
};

/// Evaluates expressions whose variables run over intervals.
class IntervalEvaluator {
 public:
  IntervalEvaluator(Analyzer& analyzer, const Intervals& of_var)
      : analyzer_(analyzer), pool_(analyzer.pool()), of_var_(of_var) {}

  Interval operator()(Ref ref) {
    const Node node = pool_[ref];
    switch (node.op) {
    case Op::integer:
      return Interval::point(ref);
    case Op::var:
      if (const Interval* known = of_var_.find(node.value)) {
        return known->min == ref && known->max == ref ? *known : evaluated(*known);
      }
      return Interval::point(ref);
    case Op::cast: {
      const Interval a = (*this)(node.a);
      const auto cast = [&](Ref x) { return x == no_ref ? x : pool_.cast(node.dtype, x); };
      return {cast(a.min), cast(a.max), a.is_point};
    }
    case Op::select:
      return hull(pool_, (*this)(node.c), (*this)(node.b));
    default:
      break;
    }
    if (!is_binary(node.op)) {
      return {};
    }
    const Interval a = (*this)(node.a), b = (*this)(node.b);
    if (a.is_point && b.is_point) {
      return Interval::point(
          a.min == node.a && b.min == node.b ? ref : pool_.binary(node.op, a.min, b.min));
    }
    if (is_comparison(node.op) || node.op == Op::and_ || node.op == Op::or_) {
      return {pool_.boolean(false), pool_.boolean(true), false};
    }
    return combined(node.op, a, b);
  }

 private:
  /// The ends may have variables that run, too.
  Interval evaluated(const Interval& interval) {
    if (depth_ >= of_var_.size()) {
      return interval;
    }
    ++depth_;
    const Interval min = interval.min == no_ref ? Interval{} : (*this)(interval.min);
    const Interval max = interval.max == no_ref ? Interval{} : (*this)(interval.max);
    --depth_;
    return {min.min, max.max, interval.is_point && min.is_point && max.is_point};
  }
  Interval combined(Op op, Interval a, Interval b) {
    switch (op) {
    case Op::add:
      return ends(Op::add, a.min, b.min, a.max, b.max);
    case Op::sub:
      return ends(Op::sub, a.min, b.max, a.max, b.min);
    case Op::mul:
      if (a.is_point) {
        std::swap(a, b);
      }
      [[fallthrough]];
    case Op::div:
    case Op::floordiv:
      return b.is_point ? scaled(op, a, b.min) : Interval{};
    case Op::floormod:
      return b.is_point ? remainder(a, b.min) : Interval{};
    case Op::min:
    case Op::max:
      if (a.min == no_ref || b.min == no_ref || a.max == no_ref || b.max == no_ref) {
        return {};
      }
      return {pool_.binary(op, a.min, b.min), pool_.binary(op, a.max, b.max), false};
    default:
      return {};
    }
  }
  Interval ends(Op op, Ref a, Ref b, Ref c, Ref d) {
    return {a == no_ref || b == no_ref ? no_ref : pool_.binary(op, a, b),
            c == no_ref || d == no_ref ? no_ref : pool_.binary(op, c, d), false};
  }
  Interval scaled(Op op, const Interval& a, Ref b) {
    if (op == Op::mul && pool_.is_integer(b, 0)) {
      return Interval::point(b);
    }
    if (pool_.is_integer(b, 1)) {
      return a;
    }
    if (analyzer_.is_at_least(b, 0)) {
      return ends(op, a.min, b, a.max, b);
    }
    if (analyzer_.is_at_least(pool_.sub(pool_.like(b, 0), b), 1)) {
      return ends(op, a.max, b, a.min, b);
    }
    if (a.min == no_ref || a.max == no_ref) {
      return {};
    }
    const Ref sign = pool_.binary(Op::ge, b, pool_.like(b, 0));
    const Ref low = pool_.binary(op, a.min, b), high = pool_.binary(op, a.max, b);
    return {pool_.choice(Op::select, sign, low, high), pool_.choice(Op::select, sign, high, low),
            false};
  }
  Interval remainder(const Interval& a, Ref divisor) {
    if (!analyzer_.is_at_least(divisor, 0)) {
      return {};
    }
    if (pool_.is_integer(divisor) && a.min != no_ref && a.max != no_ref) {
      const Ref high = pool_.floordiv(a.max, divisor), low = pool_.floordiv(a.min, divisor);
      if (analyzer_.holds(pool_.binary(Op::eq, high, low))) {
        const Ref whole = pool_.mul(divisor, low);
        return {pool_.sub(a.min, whole), pool_.sub(a.max, whole), false};
      }
    }
    return {pool_.like(divisor, 0), pool_.sub(divisor, pool_.like(divisor, 1)), false};
  }

  Analyzer& analyzer_;
  Pool& pool_;
  const Intervals& of_var_;
  std::size_t depth_ = 0;
};

}  // namespace tensorsmith::algebra
