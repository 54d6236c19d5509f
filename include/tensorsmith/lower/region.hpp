// SPDX-License-Identifier: Apache-2.0
// Which box of a producer a set of reads touches, and what a part of a nest covers.
//
// Floor 4. Own design (interval arithmetic with symbolic lower ends, as in Halide's and TVM's
// bounds inference). Unknown is unknown: the caller then takes the whole dimension.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/division.hpp"
#include "tensorsmith/lower/nest.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {

/// Intervals of the axis variables of the reading operation.
using AxisIntervals = std::vector<std::pair<VarId, SymbolicInterval>>;

namespace detail {

/// Whether some axis moves both: their ends then need not meet.
inline bool move_together(const ExprPool& pool, const AxisIntervals& axes, ExprId a, ExprId b) {
  return any_item(axes, [&](const auto& axis) {
    return axis.second.width > 0 && uses_var(pool, a, axis.first) && uses_var(pool, b, axis.first);
  });
}

}  // namespace detail

inline SymbolicInterval interval_of(ExprPool& pool, const VarExtents& extents,
                                    const AxisIntervals& axes, ExprId id) {
  const SymbolicInterval unknown{{}, 0, false, false, false};
  if (const auto* imm = pool.as<IntImm>(id)) {
    SymbolicInterval point;
    point.low.constant = imm->value;
    return point;
  }
  if (const auto* ref = pool.as<VarRef>(id)) {
    for (const auto& [var, interval] : axes) {
      if (var == ref->var) {
        return interval;
      }
    }
    SymbolicInterval point;
    point.low.add(id, 1);
    return point;
  }
  const Binary* found = pool.as<Binary>(id);
  if (found == nullptr) {
    return unknown;
  }
  const Binary node = *found;
  SymbolicInterval a = interval_of(pool, extents, axes, node.a);
  SymbolicInterval b = interval_of(pool, extents, axes, node.b);
  if (!a.is_known || !b.is_known) {
    return unknown;
  }
  const auto scaled = [](SymbolicInterval x, std::int64_t c) {
    SymbolicInterval result;
    result.low.add(x.low, c);
    if (c < 0) {
      result.low.constant += c * x.width;
    }
    result.width = x.width * (c < 0 ? -c : c);
    result.is_inside = x.is_inside;
    result.is_exact = x.is_exact;
    return result;
  };
  const bool b_constant = b.width == 0 && b.low.is_constant();
  switch (node.op) {
  case BinaryOp::sub:
    b = scaled(b, -1);
    [[fallthrough]];
  case BinaryOp::add:
    if (detail::move_together(pool, axes, node.a, node.b)) {
      a.is_inside = a.is_exact = false;
    }
    a.low.add(b.low);
    a.width += b.width;
    a.is_inside = a.is_inside && b.is_inside;
    a.is_exact = a.is_exact && b.is_exact;
    return a;
  case BinaryOp::mul:
    if (b_constant) {
      return scaled(a, b.low.constant);
    }
    if (a.width == 0 && a.low.is_constant()) {
      return scaled(b, a.low.constant);
    }
    return unknown;
  case BinaryOp::floordiv:
  case BinaryOp::floormod: {
    if (!b_constant || b.low.constant <= 0) {
      return unknown;
    }
    const std::int64_t c = b.low.constant;
    // The lower end is `rest` behind a multiple of `grid`, and so is every multiple of c.
    std::int64_t grid = c;
    for (const AffineTerm& term : a.low.terms) {
      grid = gcd(grid, term.coefficient);
    }
    const std::int64_t rest = floor_mod(a.low.constant, grid);
    const bool is_one = rest + a.width < grid;  // no multiple of c lies between the ends
    SymbolicInterval result;
    if (node.op == BinaryOp::floordiv) {
      result.low = to_affine(pool, extents, pool.floordiv(to_expr(pool, a.low), pool.int_imm(c)));
      result.width = is_one ? 0 : (c - grid + rest + a.width) / c;
      result.is_inside = a.is_inside && (is_one || grid == c);
      result.is_exact = a.is_exact && (is_one || grid == c);
      return result;
    }
    if (a.width == 0 || is_one) {
      result.low = to_affine(pool, extents, pool.floormod(to_expr(pool, a.low), pool.int_imm(c)));
      result.width = a.width;
      result.is_inside = a.is_inside;
      result.is_exact = a.is_exact;
      return result;
    }
    result.width = c - 1;
    result.is_inside = result.is_exact = false;
    return result;
  }
  default:
    return unknown;
  }
}

namespace detail {

/// The placeholders of a nest: emitted ones stand where they are, the others run.
inline AxisIntervals leaf_intervals(const Nest& nest) {
  AxisIntervals intervals;
  for (std::size_t i = 0; i < nest.num_leaves(); ++i) {
    if (!nest.leaf_value[i].valid()) {
      SymbolicInterval open;
      open.width = nest.leaf_extent[i] - 1;
      intervals.emplace_back(nest.leaf_var[i], open);
    }
  }
  return intervals;
}

}  // namespace detail

namespace detail {

/// Whether a constraint says anything about `axis`: they share a leaf, emitted or not. One without
/// leaves is of an axis that is a single point, it does not say which.
inline bool is_about(const ExprPool& pool, const Nest& nest, std::size_t axis,
                     const Constraint& c) {
  const auto uses = [&](const Affine& form, VarId leaf) {
    return any_item(form.terms,
                    [&](const AffineTerm& term) { return uses_var(pool, term.atom, leaf); });
  };
  return c.form.terms.empty() || any_item(nest.leaf_var, [&](VarId leaf) {
           return uses(c.form, leaf) && uses(nest.axis_value[axis], leaf);
         });
}

/// How far a quotient goes whose loops end before their extents say so.
struct QuotientEnd {
  std::size_t constraint;  ///< that says so
  std::int64_t most;
};
/// Of `atom`, if it is a quotient of loops by a number and a constraint is about the same loops.
inline std::optional<QuotientEnd> end_of_quotient(ExprPool& pool, const VarExtents& extents,
                                                  const Nest& nest, ExprId atom) {
  const auto quotient = division(pool, BinaryOp::floordiv, atom);
  if (!quotient) {
    return std::nullopt;
  }
  const Affine numerator = to_affine(pool, extents, quotient->dividend);
  for (std::size_t k = 0; k < nest.constraints.size(); ++k) {
    const Constraint& c = nest.constraints[k];
    if (c.bound.is_constant() && c.form.constant == 0 && c.form.terms == numerator.terms) {
      const std::int64_t most = numerator.constant + c.bound.constant - 1;
      return QuotientEnd{k, floor_div(most, quotient->divisor)};
    }
  }
  return std::nullopt;
}

}  // namespace detail

/// What `axis` covers while the un-emitted leaves run.
inline SymbolicInterval axis_interval(ExprPool& pool, const VarExtents& extents, const Nest& nest,
                                      std::size_t axis) {
  SymbolicInterval result;
  std::vector<bool> is_met(nest.constraints.size(), false);
  for (const AffineTerm& term : nest.axis_value[axis].terms) {
    bool is_open = false, has_value = false;
    visit_nodes(pool, term.atom, [&](ExprId e) {
      if (const VarRef* ref = pool.as<VarRef>(e)) {
        for (std::size_t i = 0; i < nest.num_leaves(); ++i) {
          is_open = is_open || (nest.leaf_var[i] == ref->var && !nest.leaf_value[i].valid());
          has_value = has_value || (nest.leaf_var[i] == ref->var && nest.leaf_value[i].valid());
        }
      }
    });
    if (!is_open) {
      result.low.add(term.atom, term.coefficient);
      continue;
    }
    auto range = range_of(pool, extents, term.atom);
    const auto end = detail::end_of_quotient(pool, extents, nest, term.atom);
    if (range && end) {  // rows of a fused axis that its tiles go beyond
      range->max = smaller_of(range->max, end->most);
    }
    const std::int64_t widest = range ? range->max - range->min : 0;
    if (has_value && term.coefficient > 0) {
      // A part of a fused axis: its outer loops run already.
      const SymbolicInterval part =
          interval_of(pool, extents, detail::leaf_intervals(nest), term.atom);
      if (part.is_known && part.is_inside && (!range || part.width < widest)) {
        const auto lows = end ? range_of(pool, extents, part.low) : std::nullopt;
        if (lows && lows->max + part.width <= end->most) {
          is_met[end->constraint] = true;
        }
        result.low.add(part.low, term.coefficient);
        result.width += term.coefficient * part.width;
        continue;
      }
    }
    if (range && end) {
      is_met[end->constraint] = true;
    }
    // What loops that run already leave of it may end earlier than what they leave open says.
    result.is_inside =
        result.is_inside && (!has_value || !any_item(nest.constraints, [&](const Constraint& c) {
          return detail::is_about(pool, nest, axis, c);
        }));
    if (!range) {
      result.is_known = false;
      return result;
    }
    result.low.constant += term.coefficient * range->min;
    result.width += term.coefficient * widest;
  }
  result.low.constant += nest.axis_value[axis].constant;
  result.low = with_values(pool, extents, nest, result.low);
  std::vector<bool> is_trimmed(nest.num_leaves(), false);
  for (std::size_t k = 0; k < nest.constraints.size(); ++k) {
    const Constraint& c = nest.constraints[k];
    if (is_met[k] || !c.residual || !detail::is_about(pool, nest, axis, c)) {
      continue;
    }
    const auto part = c.residual->is_constant() ? part_of_axis(pool, nest, axis, c) : std::nullopt;
    bool is_free = part.has_value();
    for (std::size_t i = 0; is_free && i < part->leaves.size(); ++i) {
      is_free = !is_trimmed[part->leaves[i]];
    }
    if (!is_free) {
      result.is_inside = false;
      continue;
    }
    const std::int64_t surplus = part->most - (c.residual->constant - 1);
    result.width -= surplus > 0 ? part->scale * surplus : 0;
    for (std::size_t leaf : part->leaves) {
      is_trimmed[leaf] = true;
    }
  }
  result.is_inside = result.is_exact = result.is_inside && !nest.is_padded;
  const std::int64_t limit = nest.axis_extent[axis] - 1;
  result.width = larger_of<std::int64_t>(0, smaller_of(result.width, limit));
  if (axis < nest.axis_base.size()) {
    result.low.add(nest.axis_base[axis]);
  }
  return result;
}

/// The hull of two intervals; unknown if their lower ends differ by more than a constant.
inline SymbolicInterval hull(const SymbolicInterval& a, const SymbolicInterval& b) {
  Affine difference = b.low;
  difference.add(a.low, -1);
  if (!a.is_known || !b.is_known || !difference.is_constant()) {
    return {{}, 0, false, false, false};
  }
  SymbolicInterval result = difference.constant >= 0 ? a : b;
  const std::int64_t shift = difference.constant;
  const std::int64_t end_a = shift >= 0 ? a.width : a.width - shift;
  const std::int64_t end_b = shift >= 0 ? b.width + shift : b.width;
  result.width = end_a > end_b ? end_a : end_b;
  result.is_exact = a.is_exact && b.is_exact;
  return result;
}

/// By operation: those that read it, in ascending order. Linear.
inline std::vector<std::vector<std::uint32_t>> readers_of_operations(const ComputeDag& dag) {
  std::vector<std::vector<std::uint32_t>> readers(dag.operations().size());
  for (std::uint32_t r = 0; r < readers.size(); ++r) {
    for (ExprId body : dag.operation(r).bodies) {
      visit_nodes(dag.pool(), body, [&](ExprId id) {
        const TensorRead* read = dag.pool().as<TensorRead>(id);
        if (read == nullptr) {
          return;
        }
        std::vector<std::uint32_t>& known = readers[dag.tensor(read->tensor).operation];
        if (known.empty() || known.back() != r) {
          known.push_back(r);
        }
      });
    }
  }
  return readers;
}

}  // namespace tensorsmith
