// SPDX-License-Identifier: Apache-2.0
// RF: a reduction in two stages, so that one part of the reduction axis becomes spatial.
//
// Floor 3. Ansor reference, ch. 2.2 and 2.3. Legal: the step before is a split of a reduction
// iterator of the same stage into two parts, before it stands at most one fuse of reduction
// iterators of that stage, and nothing else was done to the stage; `iterator` is one of the two
// parts; factor_iterator is a position among the spatial axes of the .rf stage. Reductions with
// several outputs are fine. While the split length is unknown it counts as 1, and the state is not
// concrete.
//   C[i] += A[i,k]                     C.rf[i,k_o] += A[i, k_o*f + k_i]      over k_i
//   split k by f, rfactor k.0    -->   C.repl[ax0] += C.rf[ax0,k_o_v]        over k_o_v
// .rf takes the stage's id, .repl becomes stage + 1. If f does not divide, the points beyond the
// end contribute the identity.
#pragma once

#include "tensorsmith/sched/apply/rfactor_dag.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const RfactorStep& step, const Step& whole) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  const auto fail_with = [&](ScheduleErrorCode why, std::int64_t detail = 0) {
    return ScheduleError{why, step.stage, step.iterator, detail};
  };
  const std::vector<Step>& history = state.steps();
  const SplitStep* split = history.empty() ? nullptr : std::get_if<SplitStep>(&history.back());
  if (split == nullptr || split->stage != step.stage) {
    return fail_with(ScheduleErrorCode::rfactor_no_split);
  }
  if (split->lengths.size() != 1) {
    return fail_with(ScheduleErrorCode::rfactor_split_parts,
                     static_cast<std::int64_t>(split->lengths.size()) + 1);
  }
  const FuseStep* fuse =
      history.size() < 2 ? nullptr : std::get_if<FuseStep>(&history[history.size() - 2]);
  fuse = fuse != nullptr && fuse->stage == step.stage ? fuse : nullptr;
  const auto id = static_cast<std::uint32_t>(step.stage);
  const Operation& op = state.operation(id);
  const auto num_spatial = static_cast<std::int32_t>(op.axes.size());
  if (step.iterator != split->iterator && step.iterator != split->iterator + 1) {
    return fail_with(ScheduleErrorCode::rfactor_not_split_part);
  }
  if (state.stage(id).iterators[static_cast<std::size_t>(step.iterator)].kind !=
          IteratorKind::reduction ||
      split->iterator < num_spatial ||
      (fuse != nullptr && (fuse->iterators.empty() || fuse->iterators[0] < num_spatial))) {
    return fail_with(ScheduleErrorCode::rfactor_touches_spatial);
  }
  if (step.factor_iterator < 0 || step.factor_iterator > num_spatial) {
    return fail_with(ScheduleErrorCode::rfactor_axis_out_of_range, step.factor_iterator);
  }
  if (!detail::is_rfactor_ready(state, step.stage, fuse, *split)) {
    return fail_with(ScheduleErrorCode::rfactor_transformed);
  }
  const DagStepKey key = {fuse == nullptr ? nullptr : &history[history.size() - 2], &history.back(),
                          &whole};
  state.set_dag_node(state.dag_node()->child(
      key, [&](const ComputeDag& dag) { return detail::derive_rfactor(dag, fuse, *split, step); }));
  auto& stages = state.mutable_stages();
  auto repl = make_shared_of<BasicStage<Extent>>(initial_stage<Extent>(state.dag(), id + 1));
  repl->compute_at = stages[id]->compute_at;
  repl->scope = stages[id]->scope;
  if (repl->compute_at == ComputeAt::iterator) {
    detail::forget_ranges(*repl);
  }
  stages[id] = std::move(repl);
  auto parts = make_shared_of<BasicStage<Extent>>(initial_stage<Extent>(state.dag(), id));
  parts->is_partial_sum = true;
  stages.insert(stages.begin() + step.stage, std::move(parts));
  if (!state.attach_map().stage_to_iterator.empty()) {
    state.mutable_attach_map().shift_stages(step.stage);
  }
  return {};
}

}  // namespace tensorsmith
