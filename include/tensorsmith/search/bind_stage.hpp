// SPDX-License-Identifier: Apache-2.0
// Bindings of the loops of one stage of a GPU program to blocks, virtual threads and threads.
//
// Floor 7. Ansor reference, ch. 5.1 (ThreadBind), with every number given. Not here: which stages
// get which binding, and what is drawn (population/thread_bind.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/search/block_groups.hpp"
#include "tensorsmith/search/row_threads.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

inline std::int64_t extent_of_loop(const State& state, std::int32_t stage, std::size_t iterator) {
  return state.stage(static_cast<std::size_t>(stage)).iterators[iterator].extent.value_or(-1);
}

inline bool has_threads(const State& state, std::int32_t stage) {
  return any_item(state.stage(static_cast<std::size_t>(stage)).iterators,
                  [](const auto& it) { return it.annotation == Annotation::thread_x; });
}

/// Whether nothing is to be bound: threads are there, or, where they are drawn, no loop is that
/// could become one, so that the stage is one thread. The reference fuses no loops to one of one
/// iteration, and binds that.
inline bool needs_no_threads(const State& state, std::int32_t stage, bool are_drawn) {
  const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
  return has_threads(state, stage) || (are_drawn && all_items(iterators, [](const auto& it) {
                                         return it.kind == IteratorKind::reduction;
                                       }));
}

/// The stages in which tiled ones are computed; false if a stage that should be tiled is not, where
/// it has to be.
inline bool find_tiled_roots(const State& state, const AccessAnalysis& analysis,
                             std::vector<std::int32_t>& roots, bool needs_tiles) {
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    const auto stage = static_cast<std::int32_t>(id);
    const ComputeAt place = state.stage(id).compute_at;
    if (!needs_tiling(analysis, stage) || place == ComputeAt::inlined) {
      continue;
    }
    if (place == ComputeAt::iterator) {
      roots.push_back(state.attach_map().stage_to_iterator.at(stage).stage);
    } else if (needs_tiles && !has_cross_thread_reduction(state, stage)) {
      return false;
    }
  }
  return true;
}

/// Fuses the leading spatial loops, up to one where a stage is computed; they become loop 0.
inline bool fuse_outer(State& state, std::int32_t stage) {
  FuseStep fuse{stage, {}};
  const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
  for (std::size_t i = 0; i < iterators.size(); ++i) {
    if (iterators[i].kind == IteratorKind::reduction ||
        iterators[i].annotation != Annotation::none ||
        (i > 0 && is_attach_point(state, stage, i - 1))) {
      break;
    }
    fuse.iterators.push_back(static_cast<std::int32_t>(i));
  }
  return fuse.iterators.size() == 1 || try_step(state, fuse);
}

inline bool bind_blocks(State& state, std::int32_t stage) {
  const auto& outer = state.stage(static_cast<std::size_t>(stage)).iterators.front();
  if (outer.annotation == Annotation::block_x) {
    return true;  // by the sketch
  }
  return fuse_outer(state, stage) && try_step(state, AnnotationStep{stage, 0, Annotation::block_x});
}

/// Loop 0, which is fused, as blocks of so many threads; 0: as the threads of one block.
inline bool bind_plain(State& state, std::int32_t stage, std::int64_t threads) {
  if (threads == 0) {
    return try_step(state, AnnotationStep{stage, 0, Annotation::thread_x});
  }
  return try_step(state, split_of(state, stage, 0, LengthList{threads})) &&
         try_step(state, AnnotationStep{stage, 0, Annotation::block_x}) &&
         try_step(state, AnnotationStep{stage, 1, Annotation::thread_x});
}

/// Whether the stage is one loop, which is fused, and nothing stands inside of it.
inline bool is_elementwise_loop(const State& state, std::int32_t stage) {
  return state.stage(static_cast<std::size_t>(stage)).iterators.size() == 1 &&
         !is_attach_point(state, stage, 0);
}

/// The same with vectors, of what is one loop.
inline bool bind_vectors(State& state, std::int32_t stage, std::int64_t threads,
                         std::int64_t lanes) {
  const bool is_elementwise = is_elementwise_loop(state, stage);
  LengthList lengths{threads};
  if (is_elementwise) {
    lengths.push_back(lanes);
  }
  return try_step(state, split_of(state, stage, 0, lengths)) &&
         try_step(state, AnnotationStep{stage, 0, Annotation::block_x}) &&
         try_step(state, AnnotationStep{stage, 1, Annotation::thread_x}) &&
         (!is_elementwise || try_step(state, AnnotationStep{stage, 2, Annotation::vectorize}));
}

/// The loops of tile level `level`, which begin at iterator `level`: the outer levels are one loop
/// each.
inline IdList loops_of_level(const State& state, std::int32_t stage, std::size_t level) {
  const std::string tail = "." + std::to_string(level);
  const auto id = static_cast<std::size_t>(stage);
  const auto& iterators = state.stage(id).iterators;
  IdList loops;
  for (std::size_t i = level; i < state.operation(id).axes.size() + level && i < iterators.size() &&
                              iterators[i].name.ends_with(tail);
       ++i) {
    loops.push_back(static_cast<std::int32_t>(i));
  }
  return loops;
}

inline bool fuse_level(State& state, std::int32_t stage, std::size_t level) {
  const IdList loops = loops_of_level(state, stage, level);
  return !loops.empty() && try_step(state, FuseStep{stage, loops});
}

/// Loops over tiles as blocks, in a group or as they stand.
inline bool bind_tile_blocks(State& state, std::int32_t stage,
                             const std::optional<BlockGroup>& group) {
  IdList loops = loops_of_level(state, stage, 0);
  if (loops.empty()) {
    return false;
  }
  if (group) {
    const auto count = static_cast<std::int32_t>(loops.size());
    const std::size_t num_iterators = state.stage(static_cast<std::size_t>(stage)).iterators.size();
    if (!try_step(state, SplitStep{stage, group->loop, group->extent, {group->length}, true}) ||
        !try_step(state, group_order(stage, *group, count, num_iterators))) {
      return false;
    }
    loops.push_back(count);
  }
  return try_step(state, FuseStep{stage, loops}) &&
         try_step(state, AnnotationStep{stage, 0, Annotation::block_x});
}

/// Tiles as blocks, virtual threads and threads, whatever their numbers.
inline bool bind_tiles(State& state, std::int32_t stage, const std::optional<BlockGroup>& group) {
  return bind_tile_blocks(state, stage, group) && fuse_level(state, stage, 1) &&
         try_step(state, AnnotationStep{stage, 1, Annotation::vthread}) &&
         fuse_level(state, stage, 2) &&
         try_step(state, AnnotationStep{stage, 2, Annotation::thread_x});
}

/// Whether there is work for more than two warps, so that a block should have one at least.
inline bool is_large_enough_for_warps(const Operation& operation, std::int32_t warp_size) {
  std::int64_t points = 1;
  for (const auto* axes : {&operation.axes, &operation.reduce_axes}) {
    for (const Axis& axis : *axes) {
      points *= axis.extent;
    }
  }
  return points > std::int64_t{2} * warp_size;
}

/// The most elements of a copy that a thread can take at once.
inline std::int64_t most_copy_lanes(const State& state, std::int32_t stage) {
  constexpr std::int64_t vector_bytes = 16;
  const Operation& operation = state.operation(static_cast<std::size_t>(stage));
  return vector_bytes / bytes_of(state.dag().tensor(operation.outputs[0]).dtype);
}

/// As many threads copy as compute: those of the tile level .2 of the stage that reads the copy.
inline bool bind_copy(State& state, std::int32_t stage, std::int64_t lanes) {
  const std::int32_t reader = state.attach_map().stage_to_iterator.at(stage).stage;
  const Operation& operation = state.operation(static_cast<std::size_t>(reader));
  const ExprPool& pool = state.dag().pool();
  const std::size_t num_reductions = count_items(operation.reduce_axes, [&](const Axis& axis) {
    return !is_not_split(state, reader, pool.var_name(axis.var));
  });
  // The splits of reductions come after those of spatial loops, so they are met first.
  const std::vector<std::int32_t> splits = split_steps_of(state, reader);
  FollowFusedSplitStep follow{stage, 0, {}, 1, true};
  for (std::size_t i = num_reductions; i < splits.size(); ++i) {
    follow.source_steps.push_back(splits[i]);
  }
  FuseStep fuse{stage, {}};
  const std::size_t count = state.stage(static_cast<std::size_t>(stage)).iterators.size();
  for (std::size_t i = 0; i < count; ++i) {
    fuse.iterators.push_back(static_cast<std::int32_t>(i));
  }
  return try_step(state, fuse) && try_step(state, split_of(state, stage, 0, LengthList{lanes})) &&
         try_step(state, AnnotationStep{stage, 1, Annotation::vectorize}) &&
         try_step(state, follow) && try_step(state, AnnotationStep{stage, 1, Annotation::thread_x});
}

}  // namespace tensorsmith::detail
