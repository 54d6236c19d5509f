// SPDX-License-Identifier: Apache-2.0
// The loop nest of one stage while it is being emitted: extents, values, constraints, regions.
//
// Floor 4. Own design. A nest computes a box of its stage: axis a runs over
// [base[a], base[a] + extent[a]). Leaf loops have placeholder variables; when a loop is emitted its
// placeholder gets a value. Imperfect splits leave constraints "affine form of the leaves < bound";
// how they are enforced (bounds of loops, steady and tail copies, guards) is emit.hpp's affair.
#pragma once

#include <optional>

#include "tensorsmith/ir/affine.hpp"
#include "tensorsmith/ir/division.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/lower/solved_loops.hpp"
#include "tensorsmith/sched/derivation.hpp"

namespace tensorsmith {

/// [low, low + width], low known up to loop variables, width constant.
struct SymbolicInterval {
  Affine low;
  std::int64_t width = 0;
  bool is_known = true;
  /// No value of the interval lies outside of the axis' domain; false = not shown.
  bool is_inside = true;
  /// Every value is one that is needed where it lies inside of the domain, none belongs to a tile
  /// that goes on behind the end of its loops; false = not shown.
  bool is_exact = true;
};

/// form(leaf placeholders) < bound.
struct Constraint {
  Affine form;
  Affine bound;
  /// bound - (part of the form that is already emitted); nothing = can no longer be violated.
  std::optional<Affine> residual;
};

struct Nest {
  std::int32_t stage = -1;
  StageDerivation derivation;
  std::vector<Affine> axis_base;          ///< spatial axes; reduction axes start at 0
  std::vector<std::int64_t> axis_extent;  ///< all axes
  std::vector<std::int64_t> node_extent;
  std::vector<VarId> leaf_var;  ///< placeholder per leaf position
  std::vector<std::int64_t> leaf_extent;
  std::vector<ExprId> leaf_value;  ///< invalid while the loop is not emitted
  std::vector<bool> is_reduction;  ///< per leaf position
  std::vector<bool> is_tile;       ///< unrolled or vectorized: wants a constant extent
  std::vector<Affine> axis_value;  ///< over placeholders, relative to base
  std::vector<Constraint> constraints;
  std::vector<SolvedLoop> solved;  ///< nodes that are no leaves
  bool is_padded = false;          ///< its loops go on behind the ends of axes, without conditions

  std::size_t num_leaves() const { return leaf_var.size(); }
};

namespace detail {

/// The loop kind of a binding annotation; serial for others.
inline ForKind bound_kind(Annotation annotation) {
  switch (annotation) {
  case Annotation::block_x:
    return ForKind::block_x;
  case Annotation::block_y:
    return ForKind::block_y;
  case Annotation::block_z:
    return ForKind::block_z;
  case Annotation::thread_x:
    return ForKind::thread_x;
  case Annotation::thread_y:
    return ForKind::thread_y;
  case Annotation::thread_z:
    return ForKind::thread_z;
  default:
    return ForKind::serial;
  }
}

}  // namespace detail

/// Position of the deepest leaf that `id` depends on, -1 if none.
inline std::int32_t deepest_leaf(const ExprPool& pool, const Nest& nest, ExprId id) {
  std::int32_t deepest = -1;
  visit_nodes(pool, id, [&](ExprId e) {
    if (const VarRef* ref = pool.as<VarRef>(e)) {
      for (std::size_t i = 0; i < nest.num_leaves(); ++i) {
        if (nest.leaf_var[i] == ref->var && static_cast<std::int32_t>(i) > deepest) {
          deepest = static_cast<std::int32_t>(i);
        }
      }
    }
  });
  return deepest;
}

/// Rows of a fused axis as an end of the axis: floordiv(x, c) < b is x < c * b, which loops can end
/// at.
inline void clear_quotient(ExprPool& pool, const VarExtents& extents, Constraint& c) {
  const bool is_atom =
      c.form.terms.size() == 1 && c.form.constant == 0 && c.form.terms[0].coefficient == 1;
  const auto quotient =
      is_atom ? detail::division(pool, BinaryOp::floordiv, c.form.terms[0].atom) : std::nullopt;
  if (!quotient) {
    return;
  }
  Affine form = to_affine(pool, extents, quotient->dividend);
  Affine bound;
  bound.add(c.bound, quotient->divisor);
  bound.constant -= form.constant;
  form.constant = 0;
  c.form = std::move(form);
  c.residual = c.bound = std::move(bound);
}

/// The value of a solved loop may be a constant or follow from loops outside of the nest: no leaf
/// will take it from what is left.
inline void settle_solved(const ExprPool& pool, const Nest& nest, Constraint& c) {
  if (nest.solved.empty()) {
    return;
  }
  c.residual->constant -= c.form.constant;
  for (const AffineTerm& term : c.form.terms) {
    if (deepest_leaf(pool, nest, term.atom) < 0) {
      c.residual->add(term.atom, -term.coefficient);
    }
  }
}

/// Fills everything that follows from derivation, axis_base and axis_extent.
inline void build_nest(ExprPool& pool, VarExtents& extents, const State& state, Nest& nest) {
  const StageDerivation& d = nest.derivation;
  nest.node_extent = detail::node_extents(d, nest.axis_extent);
  const auto extent_of = [&](std::int32_t node) {
    return nest.node_extent[static_cast<std::size_t>(node)];
  };
  std::vector<Affine> value(static_cast<std::size_t>(d.num_nodes));
  const std::vector<bool> reduces = node_is_reduction(d);
  for (const LeafIterator& leaf : d.leaves) {
    const std::int64_t extent = extent_of(leaf.node);
    std::string name = "x";
    if (leaf.iterator >= 0) {
      name = state.stage(static_cast<std::size_t>(nest.stage))
                 .iterators[static_cast<std::size_t>(leaf.iterator)]
                 .name;
    }
    const VarId var = pool.new_var(name);
    extents.set(var, extent);
    nest.leaf_var.push_back(var);
    nest.leaf_extent.push_back(extent);
    nest.leaf_value.push_back({});
    nest.is_reduction.push_back(reduces[static_cast<std::size_t>(leaf.node)]);
    nest.is_tile.push_back(leaf.annotation == Annotation::unroll ||
                           leaf.annotation == Annotation::vectorize);
    if (extent > 1) {
      value[static_cast<std::size_t>(leaf.node)].add(pool.var(var), 1);
    }
  }
  const auto set_solved = [&](const SolvedLoop& loop) {
    Affine sum;
    sum.constant = loop.constant;
    for (const SolvedLoop::Residue& residue : loop.residues) {
      sum.add(value[static_cast<std::size_t>(residue.node)], residue.coefficient);
      sum.add(nest.axis_base[static_cast<std::size_t>(residue.axis)], residue.coefficient);
    }
    value[static_cast<std::size_t>(loop.node)] =
        to_affine(pool, extents, pool.floormod(to_expr(pool, sum), pool.int_imm(loop.modulus)));
  };
  for (std::size_t i = d.relations.size(); i-- > 0;) {
    const IteratorRelation& r = d.relations[i];
    for (const SolvedLoop& loop : nest.solved) {  // what it follows from was fused later, if at all
      if (r.is_split && has_item(r.parts, loop.node)) {
        set_solved(loop);
      }
    }
    if (r.is_split) {
      Affine sum;
      std::int64_t stride = 1;
      for (std::size_t p = r.parts.size(); p-- > 0;) {
        sum.add(value[static_cast<std::size_t>(r.parts[p])], stride);
        stride *= extent_of(r.parts[p]);
      }
      if (stride > extent_of(r.parent)) {
        Affine bound;
        bound.constant = extent_of(r.parent);
        nest.constraints.push_back({sum, bound, bound});
      }
      value[static_cast<std::size_t>(r.parent)] = std::move(sum);
      continue;
    }
    const Affine fused = value[static_cast<std::size_t>(r.parent)];
    std::int64_t stride = 1;
    std::size_t outermost = 0;  // the part that is not capped: nothing long is outside of it
    while (outermost + 1 < r.parts.size() && extent_of(r.parts[outermost]) == 1) {
      ++outermost;
    }
    for (std::size_t p = r.parts.size(); p-- > 0;) {
      const std::int64_t extent = extent_of(r.parts[p]);
      ExprId e = to_expr(pool, fused);
      if (stride > 1) {
        e = pool.floordiv(e, pool.int_imm(stride));
      }
      if (p > outermost) {
        e = pool.floormod(e, pool.int_imm(extent));
      }
      value[static_cast<std::size_t>(r.parts[p])] =
          extent == 1 ? Affine{} : to_affine(pool, extents, e);
      stride *= extent;
    }
  }
  for (const SolvedLoop& loop : nest.solved) {
    if (loop.node < d.num_axes) {
      set_solved(loop);
    }
  }
  value.resize(static_cast<std::size_t>(d.num_axes));
  nest.axis_value = std::move(value);
  for (Constraint& c : nest.constraints) {
    settle_solved(pool, nest, c);
  }
}
/// The form with emitted placeholders replaced by their values.
inline Affine with_values(ExprPool& pool, const VarExtents& extents, const Nest& nest,
                          const Affine& form) {
  Substitution values;
  for (std::size_t i = 0; i < nest.num_leaves(); ++i) {
    if (nest.leaf_value[i].valid()) {
      values.set(nest.leaf_var[i], nest.leaf_value[i]);
    }
  }
  return to_affine(pool, extents, values(pool, to_expr(pool, form)));
}

/// The loops of one constraint as a part of an axis: axis = scale * part + others.
struct AxisPart {
  std::int64_t scale = 0;
  std::int64_t most = 0;  ///< largest value of the part by the extents of its loops
  std::vector<std::size_t> leaves;
};

/// Nothing if some loop of the constraint that has no value yet moves `axis` in another way, or not
/// at all.
inline std::optional<AxisPart> part_of_axis(const ExprPool& pool, const Nest& nest,
                                            std::size_t axis, const Constraint& c) {
  AxisPart part;
  for (const AffineTerm& term : c.form.terms) {
    const std::int32_t deepest = deepest_leaf(pool, nest, term.atom);
    if (deepest < 0 || nest.leaf_value[static_cast<std::size_t>(deepest)].valid()) {
      continue;
    }
    std::int64_t own = 0;
    for (const AffineTerm& other : nest.axis_value[axis].terms) {
      own = other.atom == term.atom ? other.coefficient : own;
    }
    const std::int64_t scale = term.coefficient > 0 ? own / term.coefficient : 0;
    const bool fits = scale > 0 && own == scale * term.coefficient &&
                      (part.scale == 0 || part.scale == scale) &&
                      pool.as<VarRef>(term.atom) != nullptr;
    if (!fits) {
      return std::nullopt;
    }
    part.scale = scale;
    part.most += term.coefficient * (nest.leaf_extent[static_cast<std::size_t>(deepest)] - 1);
    part.leaves.push_back(static_cast<std::size_t>(deepest));
  }
  return part.scale > 0 ? std::optional(part) : std::nullopt;
}

}  // namespace tensorsmith
