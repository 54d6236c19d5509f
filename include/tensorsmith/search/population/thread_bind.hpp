// ThreadBind: binds the loops of a GPU program to blocks, virtual threads and threads.
//
// Floor 7. Ansor reference, ch. 5.1 (ThreadBind); for GPUs. Stages from the last to the first:
//     tiled root stage:      for i.0 j.0 i.1 j.1 i.2 j.2 ...
//         -->  blockIdx.x i.0@j.0@, vthread i.1@j.1@, threadIdx.x i.2@j.2@ ...
//     other root stage:      for i j  -->  blockIdx.x i@j@.0, threadIdx.x i@j@.1 (a warp)
//     shared-memory copy:    for ax0 ax1
//         -->  for ax0@ax1@.0.0, threadIdx.x ax0@ax1@.0.1, vectorize ax0@ax1@.1
// In a space whose threads are drawn (SpaceOptions::draws_threads) other root stages are
//     for i j  -->  blockIdx.x i@j@.0, threadIdx.x i@j@.1 (32 to 1024), vectorize i@j@.2
// In a space whose copies are drawn (SpaceOptions::fetch_stages) that vector is too: of one element
// in the reference's, for mutations to grow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct ThreadBind {
  static constexpr std::string_view name() { return "thread_bind"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    std::vector<std::int32_t> roots;
    if (!find_tiled_roots(candidate, roots) || !space.refresh(candidate)) {
      return false;
    }
    State& state = candidate.state;
    for (auto stage = static_cast<std::int32_t>(state.num_stages()) - 1; stage >= 0; --stage) {
      const auto id = static_cast<std::size_t>(stage);
      const ComputeAt place = state.stage(id).compute_at;
      if (state.stage(id).is_placeholder || place == ComputeAt::inlined) {
        continue;
      }
      bool legal = true;
      if (has_cross_thread_reduction(state, stage)) {
        legal = place != ComputeAt::root || bind_blocks(state, stage);
      } else if (!has_threads(state, stage)) {
        if (place == ComputeAt::root) {
          legal = has_item(roots, stage) ? bind_tiles(state, stage, space.options().hardware)
                  : space.options().draws_threads
                      ? bind_drawn(state, stage, space.options().hardware, rng)
                      : bind_plain(state, stage, space.options().hardware.warp_size);
        } else if (ends_with(state.operation(id).name, ".shared")) {
          const std::int64_t lanes =
              space.options().fetch_stages.empty() ? 1 : draw_lanes(state, stage, rng);
          legal = bind_copy(state, stage, lanes);
        }
      }
      if (!legal) {
        return false;
      }
    }
    return true;
  }

 private:
  static bool ends_with(std::string_view text, std::string_view tail) {
    return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
  }

  /// The stages in which tiled ones are computed; false if a stage that should be tiled is not.
  static bool find_tiled_roots(const Candidate& candidate, std::vector<std::int32_t>& roots) {
    const State& state = candidate.state;
    for (std::size_t id = 0; id < state.num_stages(); ++id) {
      const auto stage = static_cast<std::int32_t>(id);
      const ComputeAt place = state.stage(id).compute_at;
      if (!needs_tiling(*candidate.analysis, stage) || place == ComputeAt::inlined) {
        continue;
      }
      if (place == ComputeAt::iterator) {
        roots.push_back(state.attach_map().stage_to_iterator.at(stage).stage);
      } else if (!has_cross_thread_reduction(state, stage)) {
        return false;
      }
    }
    return true;
  }

  static bool has_threads(const State& state, std::int32_t stage) {
    return any_item(state.stage(static_cast<std::size_t>(stage)).iterators,
                    [](const auto& it) { return it.annotation == Annotation::thread_x; });
  }

  /// Fuses the leading spatial loops, up to one where a stage is computed; they become loop 0.
  static bool fuse_outer(State& state, std::int32_t stage) {
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

  static bool bind_blocks(State& state, std::int32_t stage) {
    const auto& outer = state.stage(static_cast<std::size_t>(stage)).iterators.front();
    if (outer.annotation == Annotation::block_x) {
      return true;  // by the sketch
    }
    return fuse_outer(state, stage) &&
           try_step(state, AnnotationStep{stage, 0, Annotation::block_x});
  }

  static std::int64_t extent_of(const State& state, std::int32_t stage, std::size_t iterator) {
    return state.stage(static_cast<std::size_t>(stage)).iterators[iterator].extent.value_or(-1);
  }

  static bool bind_plain(State& state, std::int32_t stage, std::int32_t warp_size) {
    if (!fuse_outer(state, stage)) {
      return false;
    }
    if (extent_of(state, stage, 0) <= warp_size) {
      return try_step(state, AnnotationStep{stage, 0, Annotation::thread_x});
    }
    return try_step(state, split_of(state, stage, 0, LengthList{warp_size})) &&
           try_step(state, AnnotationStep{stage, 0, Annotation::block_x}) &&
           try_step(state, AnnotationStep{stage, 1, Annotation::thread_x});
  }

  /// The same with more threads and vectors: of fused elements that nothing stands inside of.
  template <class Rng>
  static bool bind_drawn(State& state, std::int32_t stage, const HardwareParams& hardware,
                         Rng& rng) {
    if (!fuse_outer(state, stage)) {
      return false;
    }
    const std::int64_t extent = extent_of(state, stage, 0);
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    const bool is_elementwise = iterators.size() == 1 && !is_attach_point(state, stage, 0);
    const std::int64_t lanes =
        is_elementwise ? draw_vector_width(extent, most_lanes(state.dag()), rng) : 1;
    const std::int64_t threads =
        draw_threads(extent / lanes, hardware.warp_size, hardware.max_threads_per_block, rng);
    LengthList lengths{threads};
    if (is_elementwise) {
      lengths.push_back(lanes);
    }
    return try_step(state, split_of(state, stage, 0, lengths)) &&
           try_step(state, AnnotationStep{stage, 0, Annotation::block_x}) &&
           try_step(state, AnnotationStep{stage, 1, Annotation::thread_x}) &&
           (!is_elementwise || try_step(state, AnnotationStep{stage, 2, Annotation::vectorize}));
  }

  static bool bind_tiles(State& state, std::int32_t stage, const HardwareParams& hardware) {
    const Operation& operation = state.operation(static_cast<std::size_t>(stage));
    std::int64_t points = 1;
    for (const auto* axes : {&operation.axes, &operation.reduce_axes}) {
      for (const Axis& axis : *axes) {
        points *= axis.extent;
      }
    }
    const std::size_t num_axes = operation.axes.size();
    if (!fuse_level(state, stage, 0, num_axes) ||
        !try_step(state, AnnotationStep{stage, 0, Annotation::block_x}) ||
        !fuse_level(state, stage, 1, num_axes) ||
        extent_of(state, stage, 1) > hardware.max_vthread_extent ||
        !try_step(state, AnnotationStep{stage, 1, Annotation::vthread}) ||
        !fuse_level(state, stage, 2, num_axes)) {
      return false;
    }
    const bool is_large = points > std::int64_t{2} * hardware.warp_size;
    return !(is_large && extent_of(state, stage, 2) < hardware.warp_size) &&
           try_step(state, AnnotationStep{stage, 2, Annotation::thread_x});
  }

  /// Fuses the loops of tile level `level`, which begin at iterator `level`: the outer levels are
  /// one loop each.
  static bool fuse_level(State& state, std::int32_t stage, std::size_t level,
                         std::size_t num_axes) {
    const std::string tail = "." + std::to_string(level);
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    FuseStep fuse{stage, {}};
    for (std::size_t i = level;
         i < num_axes + level && i < iterators.size() && ends_with(iterators[i].name, tail); ++i) {
      fuse.iterators.push_back(static_cast<std::int32_t>(i));
    }
    return !fuse.iterators.empty() && try_step(state, fuse);
  }

  /// Elements that a thread copies at once: half of the time as many as 16 bytes hold and the rows
  /// of the copy allow, else any fewer.
  template <class Rng>
  static std::int64_t draw_lanes(const State& state, std::int32_t stage, Rng& rng) {
    constexpr std::int64_t vector_bytes = 16;
    const Operation& operation = state.operation(static_cast<std::size_t>(stage));
    if (operation.axes.empty()) {
      return 1;
    }
    const std::int64_t row = extent_of(state, stage, operation.axes.size() - 1);
    const std::int64_t bytes = bytes_of(state.dag().tensor(operation.outputs[0]).dtype);
    return draw_vector_width(row, vector_bytes / bytes, rng);
  }

  /// As many threads copy as compute: those of the tile level .2 of the stage that reads the copy.
  static bool bind_copy(State& state, std::int32_t stage, std::int64_t lanes) {
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
           try_step(state, follow) &&
           try_step(state, AnnotationStep{stage, 1, Annotation::thread_x});
  }
};

}  // namespace tensorsmith
