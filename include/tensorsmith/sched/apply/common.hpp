// SPDX-License-Identifier: Apache-2.0
// What the checks of all steps share.
//
// Floor 3. Own design. Every step has one header here with
//   StepCheck apply_to(BasicState<Extent>& state, const TheStep& step)
// that checks legality first and changes the state only if the step is legal. The history (without
// the step itself) is in state.steps().
#pragma once

#include <cstdint>

#include "tensorsmith/sched/schedule_error.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

namespace detail {

inline std::int64_t ceil_div_extent(std::int64_t extent, std::int64_t length) {
  return (extent - 1) / length + 1;  // extents are at least 1
}

template <class Extent>
StepCheck check_stage(const BasicState<Extent>& state, std::int32_t stage) {
  if (stage < 0 || static_cast<std::size_t>(stage) >= state.num_stages()) {
    return ScheduleError{ScheduleErrorCode::stage_out_of_range, -1, -1, stage};
  }
  return {};
}

/// In range and not a placeholder.
template <class Extent>
StepCheck check_compute(const BasicState<Extent>& state, std::int32_t stage) {
  if (StepCheck error = check_stage(state, stage)) {
    return error;
  }
  if (state.stage(static_cast<std::size_t>(stage)).is_placeholder) {
    return ScheduleError{ScheduleErrorCode::stage_is_placeholder, stage};
  }
  return {};
}

template <class Extent>
StepCheck check_iterator(const BasicState<Extent>& state, std::int32_t stage,
                         std::int32_t iterator) {
  if (StepCheck error = check_compute(state, stage)) {
    return error;
  }
  const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
  if (iterator < 0 || static_cast<std::size_t>(iterator) >= iterators.size()) {
    return ScheduleError{ScheduleErrorCode::iterator_out_of_range, stage, -1, iterator};
  }
  return {};
}

/// One of its tensors is an argument of the kernel.
inline bool is_argument(const ComputeDag& dag, const Operation& op) {
  for (TensorId output : op.outputs) {
    for (TensorId argument : dag.arguments()) {
      if (output == argument) {
        return true;
      }
    }
  }
  return false;
}

/// Ranges are unknown until bound inference.
template <class Extent>
void forget_ranges(BasicStage<Extent>& stage) {
  for (auto& iterator : stage.iterators) {
    iterator.extent.reset();
  }
}

/// Every key of `stage` at iterators >= first moves by `delta`.
inline void shift_attach_points(AttachMap& map, std::int32_t stage, std::int32_t first,
                                std::int32_t delta) {
  std::vector<std::pair<IteratorKey, IteratorKey>> renames;
  for (auto at = map.iterator_to_stages.lower_bound({stage, first});
       at != map.iterator_to_stages.end() && at->first.stage == stage; ++at) {
    renames.emplace_back(at->first, IteratorKey{stage, at->first.iterator + delta});
  }
  map.update_iterators(renames);
}

inline bool has_attach_points(const AttachMap& map, std::int32_t stage, std::int32_t first = 0) {
  const auto at = map.iterator_to_stages.lower_bound({stage, first});
  return at != map.iterator_to_stages.end() && at->first.stage == stage;
}

/// As it came out of the dag: no iterator changed, at root, nothing attached.
template <class Extent>
bool is_untouched(const BasicState<Extent>& state, std::int32_t id) {
  const auto stage_id = static_cast<std::size_t>(id);
  const BasicStage<Extent>& stage = state.stage(stage_id);
  const Operation& op = state.operation(stage_id);
  if (stage.compute_at != ComputeAt::root || stage.auto_unroll_max_step != 0 ||
      stage.storage_offset != 0 || !stage.hints.empty() ||
      has_attach_points(state.attach_map(), id) ||
      stage.iterators.size() != op.axes.size() + op.reduce_axes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < stage.iterators.size(); ++i) {
    const Axis& axis = i < op.axes.size() ? op.axes[i] : op.reduce_axes[i - op.axes.size()];
    if (stage.iterators[i].annotation != Annotation::none ||
        stage.iterators[i].name != clean_name(state.dag().pool().var_name(axis.var))) {
      return false;
    }
  }
  return true;
}

}  // namespace detail
}  // namespace tensorsmith
