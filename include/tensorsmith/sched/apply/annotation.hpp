// SPDX-License-Identifier: Apache-2.0
// AN: annotate one iterator.
//
// Floor 3. Ansor reference, ch. 2.3. Legal: the iterator carries no annotation yet; parallel,
// vectorize, vthread and blockIdx need iterations that are independent (spatial, or the lone loop
// of a rank-0 stage); threadIdx may go on a reduction (cross-thread reduction).
//   for i (0,16)  -->  parallel i (0,16)
#pragma once

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

constexpr bool needs_independent_iterations(Annotation annotation) {
  switch (annotation) {
  case Annotation::vectorize:
  case Annotation::parallel:
  case Annotation::vthread:
  case Annotation::block_x:
  case Annotation::block_y:
  case Annotation::block_z:
    return true;
  default:
    return false;
  }
}
constexpr bool is_thread_annotation(Annotation annotation) {
  return annotation >= Annotation::vthread && annotation <= Annotation::thread_z;
}
constexpr bool is_block_annotation(Annotation annotation) {
  return annotation == Annotation::block_x || annotation == Annotation::block_y ||
         annotation == Annotation::block_z;
}

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const AnnotationStep& step) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  const auto code = static_cast<std::int64_t>(step.annotation);
  const auto fail_with = [&](ScheduleErrorCode why, std::int64_t detail) {
    return ScheduleError{why, step.stage, step.iterator, detail};
  };
  if (code <= 0 || code > static_cast<std::int64_t>(Annotation::tensorize)) {
    return fail_with(ScheduleErrorCode::annotation_unknown, code);
  }
  if (step.annotation == Annotation::tensorize) {
    return fail_with(ScheduleErrorCode::annotation_tensorize, code);
  }
  const auto stage = static_cast<std::size_t>(step.stage);
  const auto iterator = static_cast<std::size_t>(step.iterator);
  const BasicIterator<Extent>& it = state.stage(stage).iterators[iterator];
  if (it.annotation != Annotation::none) {
    return fail_with(ScheduleErrorCode::annotation_already_set,
                     static_cast<std::int64_t>(it.annotation));
  }
  if (needs_independent_iterations(step.annotation) &&
      (it.kind == IteratorKind::reduction || it.kind == IteratorKind::mixed)) {
    return fail_with(ScheduleErrorCode::annotation_needs_spatial, code);
  }
  auto& changed = is_thread_annotation(step.annotation) ? state.mutable_stage(stage)
                                                        : state.mutable_stage_in_bounds(stage);
  changed.iterators[iterator].annotation = step.annotation;
  return {};
}

}  // namespace tensorsmith
