// SPDX-License-Identifier: Apache-2.0
// TER: a reduction of a few terms as a formula, without accumulator and loops.
//
// Floor 3. Own design. Legal: a reduction with one output and at most `most_expanded_terms` terms,
// to which nothing was done yet. The terms are combined in the order of the loops, from the
// identity on, so no value changes. The stage has its spatial axes only and may then be inlined.
//   L[i] += X[i,k] * X[i,k], k in 2  -->  L[i] = 0 + X[i,0] * X[i,0] + X[i,1] * X[i,1]
#pragma once

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/common.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// Longer formulas than these take more time to compile than a loop's instructions take.
inline constexpr std::int64_t most_expanded_terms = 16;

/// Terms of one sum; 0 without a reduction. At most 2^31 per axis, so a few axes may saturate.
inline std::int64_t num_terms(const Operation& op) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::int64_t terms = op.reduce_axes.empty() ? 0 : 1;
  for (const Axis& axis : op.reduce_axes) {
    terms = smaller_of(most, terms * smaller_of(most, axis.extent));
  }
  return terms;
}

namespace detail {

inline Shared<const ComputeDag> derive_expanded(const ComputeDag& dag,
                                                const ExpandReductionStep& step) {
  LayeredPool layer(dag);
  ExprPool& pool = layer.pool();
  std::vector<Operation> operations = dag.operations();
  Operation& op = operations[static_cast<std::size_t>(step.stage)];
  const Reduce reduce = *pool.as<Reduce>(op.bodies[0]);
  const Combiner combiner = pool.combiner(reduce.combiner);
  ExprId value = combiner.identity[0];
  for (std::int64_t term = 0; term < num_terms(op); ++term) {
    Substitution place, combine;
    std::int64_t rest = term;
    for (std::size_t a = op.reduce_axes.size(); a-- > 0;) {
      const Axis& axis = op.reduce_axes[a];
      place.set(axis.var, pool.int_imm(rest % axis.extent, pool.var_dtype(axis.var)));
      rest /= axis.extent;
    }
    combine.set(combiner.lhs[0], value);
    combine.set(combiner.rhs[0], place(pool, reduce.sources[0]));
    value = combine(pool, combiner.results[0]);
  }
  op.bodies[0] = value;
  op.reduce_axes.clear();
  return make_shared_of<const ComputeDag>(layer.share(), dag.tensors(), std::move(operations),
                                          dag.arguments());
}

}  // namespace detail

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const ExpandReductionStep& step, const Step& whole) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  const auto id = static_cast<std::uint32_t>(step.stage);
  const Operation& op = state.operation(id);
  const std::int64_t terms = num_terms(op);
  if (op.outputs.size() != 1 || terms == 0 || terms > most_expanded_terms) {
    return ScheduleError{ScheduleErrorCode::expand_terms, step.stage, -1, most_expanded_terms};
  }
  if (!detail::is_untouched(state, step.stage)) {
    return ScheduleError{ScheduleErrorCode::expand_transformed, step.stage};
  }
  state.set_dag_node(state.dag_node()->child(
      {&whole}, [&](const ComputeDag& dag) { return detail::derive_expanded(dag, step); }));
  auto& stages = state.mutable_stages();
  auto formula = make_shared_of<BasicStage<Extent>>(initial_stage<Extent>(state.dag(), id));
  formula->scope = stages[id]->scope;
  stages[id] = std::move(formula);
  return {};
}

}  // namespace tensorsmith
