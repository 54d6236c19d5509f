// SPDX-License-Identifier: Apache-2.0
// SP, FSP, FFSP: cut one iterator into several.
//
// Floor 3. Ansor reference, ch. 2.2 to 2.4. Any positive lengths are legal, whether they divide or
// not: the extents are rounded up. With inner_to_outer the last length is the extent of the
// innermost part, else the first one that of the outermost. From the first unknown length (or with
// an unknown range) on, parts have unknown extents. FSP and FFSP take their lengths from SP steps
// of the history.
//   for i (0,512)  lengths [4, 8], inner to outer  -->  for i.0 (0,16)
//                                                         for i.1 (0,4)
//                                                           for i.2 (0,8)
// Stages attached to i are attached to the innermost part afterwards.
#pragma once

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

/// Keeps products of lengths and extents far from the end of 64 bits.
constexpr std::int64_t max_split_length = 2147483647;

namespace detail {

/// Of two lengths, either of them unknown or not; stays just above the limit once it is passed.
inline std::int64_t multiply_lengths(std::int64_t a, std::int64_t b) {
  if (a == unknown_length || b == unknown_length) {
    return unknown_length;
  }
  const std::int64_t product = a * b;
  return product <= max_split_length ? product : max_split_length + 1;
}

template <class Extent>
StepCheck split_iterator(BasicState<Extent>& state, std::int32_t stage, std::int32_t iterator,
                         const LengthList& lengths, bool inner_to_outer) {
  if (StepCheck error = check_iterator(state, stage, iterator)) {
    return error;
  }
  if (lengths.empty()) {
    return ScheduleError{ScheduleErrorCode::split_no_lengths, stage, iterator};
  }
  for (std::int64_t length : lengths) {
    if (length > max_split_length) {
      return ScheduleError{ScheduleErrorCode::split_length_too_large, stage, iterator, length};
    }
    if (length <= 0 && length != unknown_length) {
      return ScheduleError{ScheduleErrorCode::split_length_not_positive, stage, iterator, length};
    }
  }
  const auto id = static_cast<std::size_t>(stage);
  if (state.stage(id).iterators[static_cast<std::size_t>(iterator)].kind == IteratorKind::special) {
    return ScheduleError{ScheduleErrorCode::split_of_special, stage, iterator};
  }
  auto& iterators = state.mutable_stage(id).iterators;
  const auto at = iterators.begin() + iterator;
  const BasicIterator<Extent> old = std::move(*at);
  const std::size_t n = lengths.size();
  iterators.insert(at + 1, n, BasicIterator<Extent>{});
  std::optional<Extent> remaining = old.extent;
  for (std::size_t k = 0; k <= n; ++k) {  // in the order of processing
    const std::size_t part = inner_to_outer ? n - k : k;
    BasicIterator<Extent>& it = iterators[static_cast<std::size_t>(iterator) + part];
    it = BasicIterator<Extent>{};
    it.name.reserve(old.name.size() + 3);
    it.name = old.name;
    it.name += '.';
    it.name += std::to_string(part);
    it.kind = old.kind;
    if (k == n) {
      it.extent = remaining;
      break;
    }
    const std::int64_t length = lengths[inner_to_outer ? n - 1 - k : k];
    if (remaining && length != unknown_length) {
      it.extent = Extent(length);
      remaining = ceil_div_extent(*remaining, length);
    } else {
      remaining.reset();
      if (length == unknown_length) {
        state.set_concrete(false);
      }
    }
  }
  if (has_attach_points(state.attach_map(), stage, iterator)) {
    shift_attach_points(state.mutable_attach_map(), stage, iterator, static_cast<std::int32_t>(n));
  }
  return {};
}

/// The SP step at `source` of the history, or the error.
inline StepCheck check_source(const std::vector<Step>& steps, std::int32_t stage,
                              std::int32_t iterator, std::int32_t source) {
  if (source < 0 || static_cast<std::size_t>(source) >= steps.size()) {
    return ScheduleError{ScheduleErrorCode::follow_source_out_of_range, stage, iterator, source};
  }
  if (!std::holds_alternative<SplitStep>(steps[static_cast<std::size_t>(source)])) {
    return ScheduleError{ScheduleErrorCode::follow_source_not_split, stage, iterator, source};
  }
  return {};
}

}  // namespace detail

/// The lengths of a follow split: the first num_split - 1 of its source, then the product of the
/// rest. The source must be a split with at least num_split - 1 lengths.
inline LengthList follow_split_lengths(const std::vector<Step>& steps,
                                       const FollowSplitStep& step) {
  const auto& source = std::get<SplitStep>(steps[static_cast<std::size_t>(step.source_step)]);
  LengthList lengths;
  std::int64_t rest = 1;
  for (std::size_t i = 0; i < source.lengths.size(); ++i) {
    const std::int64_t length = source.lengths[i];
    if (static_cast<std::int32_t>(i) + 1 < step.num_split) {
      lengths.push_back(length);
    } else {
      rest = detail::multiply_lengths(rest, length);
    }
  }
  lengths.push_back(rest);
  return lengths;
}

/// The one length of a follow fused split: the product of lengths[level] of its sources, 1 without
/// any, as the reference has it where a copy is copied again.
inline std::int64_t follow_fused_split_length(const std::vector<Step>& steps,
                                              const FollowFusedSplitStep& step) {
  std::int64_t product = 1;
  for (std::int32_t at : step.source_steps) {
    const auto& source = std::get<SplitStep>(steps[static_cast<std::size_t>(at)]);
    product =
        detail::multiply_lengths(product, source.lengths[static_cast<std::size_t>(step.level)]);
  }
  return product;
}

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const SplitStep& step) {
  return detail::split_iterator(state, step.stage, step.iterator, step.lengths,
                                step.inner_to_outer);
}

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const FollowSplitStep& step) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  if (StepCheck error =
          detail::check_source(state.steps(), step.stage, step.iterator, step.source_step)) {
    return error;
  }
  const auto& source =
      std::get<SplitStep>(state.steps()[static_cast<std::size_t>(step.source_step)]);
  if (step.num_split < 1 || static_cast<std::size_t>(step.num_split) > source.lengths.size() + 1) {
    return ScheduleError{ScheduleErrorCode::follow_part_count, step.stage, step.iterator,
                         step.num_split};
  }
  return detail::split_iterator(state, step.stage, step.iterator,
                                follow_split_lengths(state.steps(), step), true);
}

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const FollowFusedSplitStep& step) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  for (std::int32_t at : step.source_steps) {
    if (StepCheck error = detail::check_source(state.steps(), step.stage, step.iterator, at)) {
      return error;
    }
    const auto& source = std::get<SplitStep>(state.steps()[static_cast<std::size_t>(at)]);
    if (step.level < 0 || static_cast<std::size_t>(step.level) >= source.lengths.size()) {
      return ScheduleError{ScheduleErrorCode::follow_level_out_of_range, step.stage, step.iterator,
                           step.level};
    }
  }
  return detail::split_iterator(state, step.stage, step.iterator,
                                {follow_fused_split_length(state.steps(), step)},
                                step.factor_or_nparts);
}

}  // namespace tensorsmith
