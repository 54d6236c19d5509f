// SPDX-License-Identifier: Apache-2.0
// A nest of one stage, for tests that look into it. Not here: emission.
#pragma once

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/nest.hpp"
#include "unit/sched/sched_fixtures.hpp"

namespace tensorsmith::test {

/// The nest of one stage of a state, which it must not outlive, over its whole domain.
struct BuiltNest {
  ExprPool pool;
  VarExtents extents;
  Nest nest;

  BuiltNest(const State& state, std::size_t stage) : pool(&state.dag().pool()) {
    const Operation& op = state.operation(stage);
    nest.stage = static_cast<std::int32_t>(stage);
    nest.derivation = derive(state)[stage];
    nest.axis_base.resize(op.axes.size());
    for (const Axis& axis : op.axes) {
      nest.axis_extent.push_back(axis.extent);
    }
    for (const Axis& axis : op.reduce_axes) {
      nest.axis_extent.push_back(axis.extent);
    }
    build_nest(pool, extents, state, nest);
  }
  std::string text(const Affine& form) { return debug_string(to_expr(pool, form), pool); }
  void emit(std::size_t leaf, ExprId value) { nest.leaf_value[leaf] = value; }
};

}  // namespace tensorsmith::test
