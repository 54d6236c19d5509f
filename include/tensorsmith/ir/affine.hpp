// SPDX-License-Identifier: Apache-2.0
// Affine forms of integer index expressions: sum of coefficient * atom + constant.
//
// Floor 1. Own design. An atom is a variable or an expression that is not affine in variables (a
// floordiv that does not divide, a min, a load). floordiv and floormod by a positive constant are
// resolved when ranges of the variables allow it, so that values of split and fused loops come
// apart again. Not here: general simplification (simplify.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/index_range.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith {

struct AffineTerm {
  ExprId atom;
  std::int64_t coefficient;
  bool operator==(const AffineTerm&) const = default;
};

struct Affine {
  SmallVector<AffineTerm, 6> terms;  ///< ascending atoms, no zero coefficients
  std::int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  bool operator==(const Affine&) const = default;

  void add(ExprId atom, std::int64_t coefficient) {
    if (coefficient == 0) {
      return;
    }
    std::size_t at = 0;
    while (at < terms.size() && terms[at].atom < atom) {
      ++at;
    }
    if (at < terms.size() && terms[at].atom == atom) {
      terms[at].coefficient = wrapping_add(terms[at].coefficient, coefficient);
      if (terms[at].coefficient == 0) {
        terms.erase(at);
      }
      return;
    }
    terms.insert(at, {atom, coefficient});
  }
  void add(const Affine& other, std::int64_t scale = 1) {
    for (const AffineTerm& term : other.terms) {
      add(term.atom, wrapping_mul(term.coefficient, scale));
    }
    constant = wrapping_add(constant, wrapping_mul(other.constant, scale));
  }
};

inline std::optional<IntRange> range_of(const ExprPool& pool, const VarExtents& extents,
                                        const Affine& form) {
  std::optional<IntRange> range(IntRange{form.constant, form.constant});
  for (const AffineTerm& term : form.terms) {
    const auto atom = range_of(pool, extents, term.atom);
    const auto part = atom ? multiple_of(*atom, term.coefficient) : std::nullopt;
    range = part ? sum_of(*range, *part) : std::nullopt;
    if (!range) {
      return std::nullopt;
    }
  }
  return range;
}

/// Of i64 if one of its atoms is, else of i32.
inline ExprId to_expr(ExprPool& pool, const Affine& form) {
  ExprId sum;
  for (const AffineTerm& term : form.terms) {
    if (term.coefficient < 0 && sum.valid()) {
      const ExprId part =
          term.coefficient == -1 ? term.atom : pool.mul(term.atom, pool.int_imm(-term.coefficient));
      sum = pool.sub(sum, part);
      continue;
    }
    const ExprId part =
        term.coefficient == 1 ? term.atom : pool.mul(term.atom, pool.int_imm(term.coefficient));
    sum = sum.valid() ? pool.add(sum, part) : part;
  }
  if (!sum.valid()) {
    return pool.int_imm(form.constant);
  }
  if (form.constant == 0) {
    return sum;
  }
  return form.constant > 0 ? pool.add(sum, pool.int_imm(form.constant))
                           : pool.sub(sum, pool.int_imm(-form.constant));
}

/// form = divisor * quotient + remainder.
struct AffineQuotient {
  Affine quotient, remainder;
};
/// The terms whose coefficients `divisor` divides, and the others.
inline AffineQuotient split_multiples(const Affine& form, std::int64_t divisor) {
  AffineQuotient result;
  for (const AffineTerm& term : form.terms) {
    const bool is_multiple = term.coefficient % divisor == 0;
    (is_multiple ? result.quotient : result.remainder)
        .add(term.atom, is_multiple ? term.coefficient / divisor : term.coefficient);
  }
  result.quotient.constant = floor_div(form.constant, divisor);
  result.remainder.constant = floor_mod(form.constant, divisor);
  return result;
}

/// With the remainder in [0, divisor), or nothing if the ranges do not show it.
inline std::optional<AffineQuotient> divide(const ExprPool& pool, const VarExtents& extents,
                                            const Affine& form, std::int64_t divisor) {
  AffineQuotient result = split_multiples(form, divisor);
  const auto range = range_of(pool, extents, result.remainder);
  if (!range || range->min < 0 || range->max >= divisor) {
    return std::nullopt;
  }
  return result;
}

inline Affine to_affine(ExprPool& pool, const VarExtents& extents, ExprId id);

/// Whether some of it comes out of memory. Elements wrap at the width of their type, so nothing
/// that needs exact integers may be concluded from the form of what they are in.
inline bool has_element(const ExprPool& pool, const Affine& form) {
  for (const AffineTerm& term : form.terms) {
    if (pool.as<VarRef>(term.atom) == nullptr && any_node(pool, term.atom, [&](ExprId node) {
          return pool.as<Load>(node) != nullptr || pool.as<TensorRead>(node) != nullptr;
        })) {
      return true;
    }
  }
  return false;
}

/// With common = (what divides the divisor and some coefficients) and rest = form mod common:
///     form floordiv divisor  -->  (form floordiv common) floordiv (divisor / common)
///     form floormod divisor  -->  common * ((form floordiv common) floormod (...)) + rest
/// Nothing if there is no such factor above 1.
inline std::optional<AffineQuotient> divide_reduced(ExprPool& pool, const VarExtents& extents,
                                                    const Affine& form, std::int64_t divisor) {
  std::int64_t common = 1;
  std::optional<AffineQuotient> parts;
  for (const AffineTerm& term : form.terms) {
    const std::int64_t factor = gcd(divisor, term.coefficient);
    if (factor > common && factor < divisor) {
      if (auto found = divide(pool, extents, form, factor)) {
        common = factor;
        parts = std::move(found);
      }
    }
  }
  if (!parts) {
    return std::nullopt;
  }
  const ExprId whole = to_expr(pool, parts->quotient);
  const ExprId size = pool.int_imm(divisor / common);
  AffineQuotient result;
  result.quotient = to_affine(pool, extents, pool.floordiv(whole, size));
  result.remainder = parts->remainder;
  result.remainder.add(to_affine(pool, extents, pool.floormod(whole, size)), common);
  return result;
}

/// The affine form of an integer expression, resolving floordiv and floormod where possible.
inline Affine to_affine(ExprPool& pool, const VarExtents& extents, ExprId id) {
  Affine form;
  if (const auto* imm = pool.as<IntImm>(id)) {
    form.constant = imm->value;
    return form;
  }
  const Binary* found = pool.as<Binary>(id);
  if (found != nullptr && is_index_type(pool.dtype(id))) {
    const Binary node = *found;
    const auto constant_of = [&](ExprId e) -> std::optional<std::int64_t> {
      const Affine a = to_affine(pool, extents, e);
      return a.is_constant() ? std::optional(a.constant) : std::nullopt;
    };
    if (node.op == BinaryOp::add || node.op == BinaryOp::sub) {
      form = to_affine(pool, extents, node.a);
      form.add(to_affine(pool, extents, node.b), node.op == BinaryOp::add ? 1 : -1);
      return form;
    }
    if (node.op == BinaryOp::mul) {
      if (const auto c = constant_of(node.b)) {
        form.add(to_affine(pool, extents, node.a), *c);
        return form;
      }
      if (const auto c = constant_of(node.a)) {
        form.add(to_affine(pool, extents, node.b), *c);
        return form;
      }
    }
    if (node.op == BinaryOp::floordiv || node.op == BinaryOp::floormod) {
      const auto divisor = constant_of(node.b);
      if (divisor && *divisor > 0) {
        const Affine a = to_affine(pool, extents, node.a);
        const bool is_div = node.op == BinaryOp::floordiv;
        if (has_element(pool, a)) {
          form.add(pool.binary(node.op, to_expr(pool, a), pool.int_imm(*divisor)), 1);
          return form;
        }
        if (const auto parts = divide(pool, extents, a, *divisor)) {
          return is_div ? parts->quotient : parts->remainder;
        }
        if (extents.reduces_quotients()) {
          if (const auto reduced = divide_reduced(pool, extents, a, *divisor)) {
            return is_div ? reduced->quotient : reduced->remainder;
          }
        }
        // (divisor * q + r) floordiv divisor = q + r floordiv divisor, whatever r is.
        AffineQuotient parts = split_multiples(a, *divisor);
        const bool is_cut = !parts.quotient.terms.empty();
        const ExprId rest = to_expr(pool, is_cut ? parts.remainder : a);
        if (is_cut && is_div) {
          form = std::move(parts.quotient);
        }
        form.add(pool.binary(node.op, rest, pool.int_imm(*divisor)), 1);
        return form;
      }
    }
    if (node.op == BinaryOp::min || node.op == BinaryOp::max) {
      const Affine a = to_affine(pool, extents, node.a);
      const Affine b = to_affine(pool, extents, node.b);
      Affine difference = a;
      difference.add(b, -1);
      const auto range = has_element(pool, a) || has_element(pool, b)
                             ? std::nullopt
                             : range_of(pool, extents, difference);
      if (range) {
        const bool is_min = node.op == BinaryOp::min;
        if (range->max <= 0) {
          return is_min ? a : b;
        }
        if (range->min >= 0) {
          return is_min ? b : a;
        }
      }
      form.add(pool.binary(node.op, to_expr(pool, a), to_expr(pool, b)), 1);
      return form;
    }
  }
  form.add(map_children(pool, id,
                        [&](ExprId child) {
                          const DType type = pool.dtype(child);
                          return is_index_type(type) && pool.as<Load>(child) == nullptr
                                     ? pool.as_type(type,
                                                    to_expr(pool, to_affine(pool, extents, child)))
                                     : child;
                        }),
           1);
  return form;
}

}  // namespace tensorsmith
