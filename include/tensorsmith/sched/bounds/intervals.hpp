// SPDX-License-Identifier: Apache-2.0
// Intervals whose ends are affine forms of the loop variables that stay fixed.
//
// Floor 3. Ansor reference, ch. 2.5: the rules of its interval arithmetic, so that extents come out
// alike. Built on ir/affine.hpp. Not here: which variables are fixed (regions.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/affine.hpp"

namespace tensorsmith::bounds {

struct Interval {
  Affine min, max;  ///< inclusive
  bool is_point() const { return min == max; }
};

inline Affine constant_form(std::int64_t value) {
  Affine form;
  form.constant = value;
  return form;
}
inline Interval constant_interval(std::int64_t min, std::int64_t max) {
  return {constant_form(min), constant_form(max)};
}
inline Affine sum_of(const Affine& a, const Affine& b, std::int64_t scale = 1) {
  Affine form = a;
  form.add(b, scale);
  return form;
}

/// The pool, the extents of the loop variables in it, and what was assigned to axis variables.
class IntervalContext {
 public:
  explicit IntervalContext(const ExprPool* base) : pool_(base) {}

  ExprPool& pool() { return pool_; }
  VarExtents& extents() { return extents_; }

  /// floordiv(form, divisor) and floormod(form, divisor), divisor > 0.
  Affine quotient(const Affine& form, std::int64_t divisor) {
    return divide_by(form, divisor, BinaryOp::floordiv);
  }
  Affine remainder(const Affine& form, std::int64_t divisor) {
    return divide_by(form, divisor, BinaryOp::floormod);
  }

  /// a - b if it is a number.
  static std::optional<std::int64_t> difference(const Affine& a, const Affine& b) {
    const Affine d = sum_of(a, b, -1);
    return d.is_constant() ? std::optional(d.constant) : std::nullopt;
  }
  std::optional<IntRange> range(const Affine& form) { return range_of(pool_, extents_, form); }
  /// The largest value of max - min; knows that floordiv(x + d, c) - floordiv(x, c) <= ceil(d / c).
  std::optional<std::int64_t> largest_difference(const Affine& max, const Affine& min) {
    Affine rest = sum_of(max, min, -1);
    for (std::size_t i = 0; i < rest.terms.size(); ++i) {
      for (std::size_t k = 0; k < rest.terms.size(); ++k) {
        const AffineTerm high = rest.terms[i], low = rest.terms[k];
        const Binary* a = pool_.as<Binary>(high.atom);
        const Binary* b = pool_.as<Binary>(low.atom);
        if (high.coefficient <= 0 || low.coefficient != -high.coefficient || a == nullptr ||
            b == nullptr || a->op != BinaryOp::floordiv || b->op != BinaryOp::floordiv ||
            a->b != b->b || pool_.as<IntImm>(a->b) == nullptr) {
          continue;
        }
        const std::int64_t divisor = pool_.as<IntImm>(a->b)->value;
        const ExprId upper = a->a, lower = b->a;
        const auto gap =
            difference(to_affine(pool_, extents_, upper), to_affine(pool_, extents_, lower));
        if (gap && divisor > 0) {
          rest.add(high.atom, -high.coefficient);
          rest.add(low.atom, high.coefficient);
          rest.constant += high.coefficient * -floor_div(-*gap, divisor);
          i = k = 0;
          break;
        }
      }
    }
    const auto r = range(rest);
    return r ? std::optional(r->max) : std::nullopt;
  }
  bool is_at_most(const Affine& a, const Affine& b) {
    const auto r = range(sum_of(a, b, -1));
    return r && r->max <= 0;
  }

  /// The values of the variables in eval(); a variable without value stands for itself.
  void assign(VarId var, Interval value) { values_.emplace_back(var, std::move(value)); }
  void clear_assigned() { values_.clear(); }

  /// Hull of `form` under the assigned values; nothing if it is not known.
  std::optional<Interval> eval(const Affine& form) {
    Interval total{constant_form(form.constant), constant_form(form.constant)};
    for (const AffineTerm& term : form.terms) {
      const std::optional<Interval> value = eval(term.atom);
      if (!value) {
        return std::nullopt;
      }
      const bool up = term.coefficient > 0;
      total.min.add(up ? value->min : value->max, term.coefficient);
      total.max.add(up ? value->max : value->min, term.coefficient);
    }
    return total;
  }

  std::optional<Interval> eval(ExprId id) {
    const ExprOp op = pool_[id].op;
    if (const auto* imm = std::get_if<IntImm>(&op)) {
      return constant_interval(imm->value, imm->value);
    }
    if (const auto* ref = std::get_if<VarRef>(&op)) {
      for (const auto& [var, value] : values_) {
        if (var == ref->var) {
          return value;
        }
      }
      Affine self;
      self.add(id, 1);
      return Interval{self, self};
    }
    if (const auto* binary = std::get_if<Binary>(&op)) {
      return eval_binary(*binary);
    }
    return std::nullopt;
  }

 private:
  std::optional<Interval> eval_binary(const Binary& node) {
    const std::optional<Interval> a = eval(node.a), b = eval(node.b);
    if (!a || !b) {
      return std::nullopt;
    }
    const bool by_number = b->is_point() && b->min.is_constant();
    const std::int64_t number = b->min.constant;
    switch (node.op) {
    case BinaryOp::add:
      return Interval{sum_of(a->min, b->min), sum_of(a->max, b->max)};
    case BinaryOp::sub:
      return Interval{sum_of(a->min, b->max, -1), sum_of(a->max, b->min, -1)};
    case BinaryOp::mul:
      if (by_number) {
        Interval product;
        product.min.add(number >= 0 ? a->min : a->max, number);
        product.max.add(number >= 0 ? a->max : a->min, number);
        return product;
      }
      return std::nullopt;
    case BinaryOp::floordiv:
      if (by_number && number > 0) {
        return Interval{quotient(a->min, number), quotient(a->max, number)};
      }
      return std::nullopt;
    case BinaryOp::floormod:
      if (by_number && number > 0) {
        if (a->is_point()) {
          const Affine point = remainder(a->min, number);
          return Interval{point, point};
        }
        // a mod b = a - (a / b) * b if both ends have the same quotient.
        const Affine first = quotient(a->min, number);
        if (first == quotient(a->max, number)) {
          return Interval{sum_of(a->min, first, -number), sum_of(a->max, first, -number)};
        }
        return constant_interval(0, number - 1);
      }
      return std::nullopt;
    case BinaryOp::min:
    case BinaryOp::max: {
      const bool is_min = node.op == BinaryOp::min;
      const auto pick = [&](const Affine& x, const Affine& y) -> std::optional<Affine> {
        if (is_at_most(x, y)) {
          return is_min ? x : y;
        }
        return is_at_most(y, x) ? std::optional(is_min ? y : x) : std::nullopt;
      };
      const auto low = pick(a->min, b->min), high = pick(a->max, b->max);
      return low && high ? std::optional(Interval{*low, *high}) : std::nullopt;
    }
    default:
      return std::nullopt;
    }
  }

  /// The terms that divide leave the fraction: floordiv(c*q + r, c) = q + floordiv(r, c). So does
  /// what the rest has in common with the divisor: both ends of a block that a row holds whole have
  /// one quotient.
  Affine divide_by(const Affine& form, std::int64_t divisor, BinaryOp op) {
    const bool is_div = op == BinaryOp::floordiv;
    if (divisor == 1) {
      return is_div ? form : Affine{};
    }
    if (const auto parts = divide(pool_, extents_, form, divisor)) {
      return is_div ? parts->quotient : parts->remainder;
    }
    Affine whole, rest;
    for (const AffineTerm& term : form.terms) {
      const std::int64_t left = floor_mod(term.coefficient, divisor);
      whole.add(term.atom, floor_div(term.coefficient, divisor));
      rest.add(term.atom, left);
    }
    whole.constant = floor_div(form.constant, divisor);
    rest.constant = floor_mod(form.constant, divisor);
    if (const auto parts = divide_reduced(pool_, extents_, rest, divisor)) {
      return is_div ? sum_of(whole, parts->quotient) : parts->remainder;
    }
    const ExprId atom = pool_.binary(op, to_expr(pool_, rest), pool_.int_imm(divisor));
    if (!is_div) {
      Affine result;
      result.add(atom, 1);
      return result;
    }
    whole.add(atom, 1);
    return whole;
  }

  ExprPool pool_;
  VarExtents extents_;
  std::vector<std::pair<VarId, Interval>> values_;
};

}  // namespace tensorsmith::bounds
