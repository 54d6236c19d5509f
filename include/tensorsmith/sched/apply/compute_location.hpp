// SPDX-License-Identifier: Apache-2.0
// CA, CI, CR: where a stage is computed.
//
// Floor 3. Ansor reference, ch. 2.3.
// compute_at is legal unless the target lies under this stage (or is inlined) or the stage is an
// argument of the kernel, which must be written whole. Whether every reader lies under the attach
// point shows in bound inference: steps that follow may still move readers. compute_inline is legal
// for a stage with one output, no reduction, nothing attached to it, that is not an argument.
// compute_root is always legal.
//   for i (0,4)                               for i (0,4)
//     B = ...          compute_at(B, C, i) -->  for i (None)
//   for i (0,4)                                   B = ...
//     C = ...                                   C = ...
#pragma once

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const ComputeAtStep& step) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  const auto fail_with = [&](ScheduleErrorCode why, std::int64_t detail) {
    return ScheduleError{why, step.stage, -1, detail};
  };
  const std::int32_t target = step.target_stage;
  if (target < 0 || static_cast<std::size_t>(target) >= state.num_stages()) {
    return fail_with(ScheduleErrorCode::compute_at_target_out_of_range, target);
  }
  const BasicStage<Extent>& target_stage = state.stage(static_cast<std::size_t>(target));
  if (step.target_iterator < 0 ||
      static_cast<std::size_t>(step.target_iterator) >= target_stage.iterators.size()) {
    return fail_with(ScheduleErrorCode::compute_at_target_iterator, step.target_iterator);
  }
  if (target_stage.compute_at == ComputeAt::inlined) {
    return fail_with(ScheduleErrorCode::compute_at_target_inlined, target);
  }
  const auto& attached = state.attach_map().stage_to_iterator;
  for (std::int32_t above = target; above != -1;) {
    if (above == step.stage) {
      return fail_with(ScheduleErrorCode::compute_at_cycle, target);
    }
    const auto found = attached.find(above);
    above = found == attached.end() ? -1 : found->second.stage;
  }
  const auto id = static_cast<std::size_t>(step.stage);
  if (detail::is_argument(state.dag(), state.operation(id))) {
    return fail_with(ScheduleErrorCode::compute_at_output, 0);
  }
  BasicStage<Extent>& stage = state.mutable_stage(id);
  detail::forget_ranges(stage);
  stage.compute_at = ComputeAt::iterator;
  state.mutable_attach_map().set_compute_at(step.stage, {target, step.target_iterator});
  return {};
}

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const ComputeInlineStep& step) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  const auto id = static_cast<std::size_t>(step.stage);
  const Operation& op = state.operation(id);
  if (detail::is_argument(state.dag(), op)) {
    return ScheduleError{ScheduleErrorCode::inline_output, step.stage};
  }
  if (!op.reduce_axes.empty()) {
    return ScheduleError{ScheduleErrorCode::inline_reduction, step.stage};
  }
  if (op.bodies.size() != 1) {
    return ScheduleError{ScheduleErrorCode::inline_multi_output, step.stage, -1,
                         static_cast<std::int64_t>(op.bodies.size())};
  }
  if (detail::has_attach_points(state.attach_map(), step.stage)) {
    return ScheduleError{ScheduleErrorCode::inline_attach_point, step.stage};
  }
  state.mutable_stage(id).compute_at = ComputeAt::inlined;
  if (state.attach_map().stage_to_iterator.count(step.stage) != 0) {
    state.mutable_attach_map().erase(step.stage);
  }
  return {};
}

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const ComputeRootStep& step) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  BasicStage<Extent>& stage = state.mutable_stage(static_cast<std::size_t>(step.stage));
  detail::forget_ranges(stage);
  stage.compute_at = ComputeAt::root;
  if (state.attach_map().stage_to_iterator.count(step.stage) != 0) {
    state.mutable_attach_map().erase(step.stage);
  }
  return {};
}

}  // namespace tensorsmith
