// SPDX-License-Identifier: Apache-2.0
// Groups of blocks: in which order the tiles of a GPU program get their blocks, in its history.
//
// Floor 7. Own design (rasterization, as in CUTLASS and Triton). Blocks start in the order of their
// numbers, so tiles that are neighbours in it share what L2 holds. ThreadBind fuses the loops over
// tiles as they stand (the last one is the innermost); a group of one of them goes innermost:
//     FU [i, j], AN blockIdx.x         1 row, all of its columns, the next row
//         -->  SP i [4], RE [i.0, j, i.1], FU [i.0, j, i.1], AN blockIdx.x
//                                      4 rows of a column, of the next column, the next 4 rows
// Not here: which groups are worth it (population/draw_block_groups.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/steps.hpp"

namespace tensorsmith {

/// Where a history makes one loop over blocks of the loops over tiles of a stage.
struct BlockLoops {
  std::int32_t stage = 0;
  std::size_t fuse = 0;     ///< the step
  std::int32_t count = 0;   ///< loops over tiles
  bool is_grouped = false;  ///< by the two steps in front of it

  std::size_t first_step() const { return is_grouped ? fuse - 2 : fuse; }
  /// Whether step `at` cuts the group off.
  bool is_split(std::size_t at) const { return is_grouped && at == first_step(); }
};

/// A group of one of those loops.
struct BlockGroup {
  std::int32_t loop = 0;
  std::int64_t extent = 0;  ///< of the whole loop
  std::int64_t length = 1;

  bool operator==(const BlockGroup&) const = default;
};

namespace detail {

template <class StepType>
const StepType* step_of_stage(const std::vector<Step>& steps, std::size_t at, std::int32_t stage) {
  const StepType* step = at < steps.size() ? std::get_if<StepType>(&steps[at]) : nullptr;
  return step != nullptr && step->stage == stage ? step : nullptr;
}

}  // namespace detail

/// Those that ThreadBind made behind the first `own` steps, which are the sketch's: what follows is
/// the loop over virtual threads.
inline std::vector<BlockLoops> block_loops(const std::vector<Step>& steps, std::size_t own) {
  std::vector<BlockLoops> found;
  for (std::size_t at = own; at + 3 < steps.size(); ++at) {
    const FuseStep* fuse = std::get_if<FuseStep>(&steps[at]);
    if (fuse == nullptr || fuse->iterators.size() < 2 || fuse->iterators.front() != 0) {
      continue;
    }
    const std::int32_t stage = fuse->stage;
    const auto* blocks = detail::step_of_stage<AnnotationStep>(steps, at + 1, stage);
    const auto* threads = detail::step_of_stage<AnnotationStep>(steps, at + 3, stage);
    if (blocks == nullptr || blocks->annotation != Annotation::block_x ||
        detail::step_of_stage<FuseStep>(steps, at + 2, stage) == nullptr || threads == nullptr ||
        threads->annotation != Annotation::vthread) {
      continue;
    }
    const bool is_grouped = at >= own + 2 &&
                            detail::step_of_stage<SplitStep>(steps, at - 2, stage) != nullptr &&
                            detail::step_of_stage<ReorderStep>(steps, at - 1, stage) != nullptr;
    const auto count = static_cast<std::int32_t>(fuse->iterators.size());
    found.push_back({stage, at, is_grouped ? count - 1 : count, is_grouped});
  }
  return found;
}

/// The group that loops have; none: as they stand.
inline std::optional<BlockGroup> block_group(const std::vector<Step>& steps,
                                             const BlockLoops& loops) {
  if (!loops.is_grouped) {
    return std::nullopt;
  }
  const SplitStep& split = std::get<SplitStep>(steps[loops.first_step()]);
  return BlockGroup{split.iterator, split.extent, split.lengths.back()};
}

/// The loops of a stage with a group: the `count` loops over tiles come first, the grouped one's
/// rest last of them. `num_iterators`: of the stage before the group is split off.
inline ReorderStep group_order(std::int32_t stage, const BlockGroup& group, std::int32_t count,
                               std::size_t num_iterators) {
  ReorderStep order{stage, {}};
  for (std::int32_t loop = 0; loop <= static_cast<std::int32_t>(num_iterators); ++loop) {
    if (loop != group.loop + 1) {
      order.after.push_back(loop);
    }
    if (loop == count) {  // the last one, which the split has moved on by one
      order.after.push_back(group.loop + 1);
    }
  }
  return order;
}

/// Gives loops another group, or none. `num_iterators`: of the stage in front of these steps.
inline std::vector<Step> with_block_group(const std::vector<Step>& steps, const BlockLoops& loops,
                                          const std::optional<BlockGroup>& group,
                                          std::size_t num_iterators) {
  const auto place = [&](std::size_t at) {
    return steps.begin() + static_cast<std::ptrdiff_t>(at);
  };
  std::vector<Step> now(steps.begin(), place(loops.first_step()));
  FuseStep fuse{loops.stage, {}};
  if (group) {
    now.push_back(SplitStep{loops.stage, group->loop, group->extent, {group->length}, true});
    now.push_back(group_order(loops.stage, *group, loops.count, num_iterators));
  }
  for (std::int32_t loop = 0; loop < loops.count + (group ? 1 : 0); ++loop) {
    fuse.iterators.push_back(loop);
  }
  now.push_back(std::move(fuse));
  now.insert(now.end(), place(loops.fuse + 1), steps.end());
  return now;
}

}  // namespace tensorsmith
