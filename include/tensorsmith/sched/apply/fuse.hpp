// SPDX-License-Identifier: Apache-2.0
// FU: one iterator in the place of several neighbours.
//
// Floor 3. Ansor reference, ch. 2.2 and 2.3. Legal: consecutive ascending iterators, nothing
// attached to any of them but the last. Without ids: a stage of rank 0, where a loop of extent 1
// named "" replaces all iterators. The reference would do so to any stage, which forgets its
// spatial loops; its rules make the step for rank 0 only.
//   for i (0,4)
//     for j (0,8)      -->  for i@j@ (0,32)
#pragma once

#include <type_traits>

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

constexpr std::int64_t max_fused_extent = std::int64_t{1} << 62;

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const FuseStep& step) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  const auto id = static_cast<std::size_t>(step.stage);
  BasicIterator<Extent> fused;
  if (step.iterators.empty()) {
    if (const std::size_t rank = state.operation(id).axes.size(); rank > 0) {
      return ScheduleError{ScheduleErrorCode::fuse_no_iterators, step.stage, -1,
                           static_cast<std::int64_t>(rank)};
    }
    if (detail::has_attach_points(state.attach_map(), step.stage)) {
      return ScheduleError{ScheduleErrorCode::fuse_attach_point, step.stage, 0};
    }
    fused.extent = Extent(1);
    fused.kind = IteratorKind::special;
    auto& iterators = state.mutable_stage(id).iterators;
    iterators.clear();
    iterators.push_back(std::move(fused));
    return {};
  }
  const auto count = static_cast<std::int32_t>(step.iterators.size());
  const std::int32_t first = step.iterators.front();
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t at = step.iterators[static_cast<std::size_t>(i)];
    if (StepCheck error = detail::check_iterator(state, step.stage, at)) {
      return error;
    }
    if (at != first + i) {
      return ScheduleError{ScheduleErrorCode::fuse_not_consecutive, step.stage, at, i};
    }
    if (i + 1 < count && state.attach_map().iterator_to_stages.count({step.stage, at}) != 0) {
      return ScheduleError{ScheduleErrorCode::fuse_attach_point, step.stage, at};
    }
  }
  if constexpr (std::is_same_v<Extent, std::int64_t>) {
    std::int64_t product = 1;
    for (std::int32_t at : step.iterators) {
      const auto& extent = state.stage(id).iterators[static_cast<std::size_t>(at)].extent;
      if (extent.value_or(1) > max_fused_extent / product) {
        return ScheduleError{ScheduleErrorCode::fuse_too_large, step.stage};
      }
      product *= extent.value_or(1);
    }
  }
  auto& iterators = state.mutable_stage(id).iterators;
  const auto begin = iterators.begin() + first;
  fused.extent = Extent(1);
  fused.kind = begin->kind;
  for (auto it = begin; it != begin + count; ++it) {
    fused.name += it->name;
    fused.name += '@';
    if (fused.extent && it->extent) {
      fused.extent = *fused.extent * *it->extent;
    } else {
      fused.extent.reset();
    }
    if (it->kind != fused.kind) {
      fused.kind = IteratorKind::mixed;
    }
    fused.original.push_back(it->name);
  }
  *begin = std::move(fused);
  iterators.erase(begin + 1, begin + count);
  if (detail::has_attach_points(state.attach_map(), step.stage, first + 1)) {
    AttachMap& map = state.mutable_attach_map();
    std::vector<std::pair<IteratorKey, IteratorKey>> renames;
    for (auto at = map.iterator_to_stages.lower_bound({step.stage, first + 1});
         at != map.iterator_to_stages.end() && at->first.stage == step.stage; ++at) {
      const std::int32_t old = at->first.iterator;
      const std::int32_t now = old >= first + count ? old - (count - 1) : first;
      renames.emplace_back(at->first, IteratorKey{step.stage, now});
    }
    map.update_iterators(renames);
  }
  return {};
}

}  // namespace tensorsmith
