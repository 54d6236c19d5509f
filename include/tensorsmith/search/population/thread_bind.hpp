// SPDX-License-Identifier: Apache-2.0
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

#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/search/bind_stage.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct ThreadBind {
  static constexpr std::string_view name() { return "thread_bind"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    std::vector<std::int32_t> roots;
    const SpaceOptions& options = space.options();
    if (!detail::find_tiled_roots(candidate.state, *candidate.analysis, roots,
                                  !options.draws_threads) ||
        !space.refresh(candidate)) {
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
        legal = place != ComputeAt::root || detail::bind_blocks(state, stage);
      } else if (!detail::needs_no_threads(state, stage, options.draws_threads)) {
        if (place == ComputeAt::root) {
          legal = has_item(roots, stage)  ? bind_tiles(state, stage, options.hardware)
                  : options.draws_threads ? bind_drawn(state, stage, options.hardware, rng)
                                          : bind_warps(state, stage, options.hardware.warp_size);
        } else if (state.stage(id).is_shared_copy()) {
          const std::int64_t lanes =
              options.fetch_stages.empty() ? 1 : draw_lanes(state, stage, rng);
          legal = detail::bind_copy(state, stage, lanes);
        }
      }
      if (!legal) {
        return false;
      }
    }
    return true;
  }

 private:
  static bool bind_warps(State& state, std::int32_t stage, std::int32_t warp_size) {
    return detail::fuse_outer(state, stage) &&
           detail::bind_plain(state, stage,
                              detail::extent_of_loop(state, stage, 0) <= warp_size ? 0 : warp_size);
  }

  /// With more threads and vectors: of fused elements that nothing stands inside of.
  template <class Rng>
  static bool bind_drawn(State& state, std::int32_t stage, const HardwareParams& hardware,
                         Rng& rng) {
    if (!detail::fuse_outer(state, stage)) {
      return false;
    }
    const std::int64_t extent = detail::extent_of_loop(state, stage, 0);
    const std::int64_t lanes = detail::is_elementwise_loop(state, stage)
                                   ? draw_vector_width(extent, most_lanes(state.dag()), rng)
                                   : 1;
    const std::int64_t threads =
        draw_threads(extent / lanes, hardware.warp_size, hardware.max_threads_per_block, rng);
    return detail::bind_vectors(state, stage, threads, lanes);
  }

  static bool bind_tiles(State& state, std::int32_t stage, const HardwareParams& hardware) {
    if (!detail::bind_tiles(state, stage, std::nullopt) ||
        detail::extent_of_loop(state, stage, 1) > hardware.max_vthread_extent) {
      return false;
    }
    const Operation& operation = state.operation(static_cast<std::size_t>(stage));
    return detail::extent_of_loop(state, stage, 2) >= hardware.warp_size ||
           !detail::is_large_enough_for_warps(operation, hardware.warp_size);
  }

  /// Elements that a thread copies at once: half of the time as many as 16 bytes hold and the rows
  /// of the copy allow, else any fewer.
  template <class Rng>
  static std::int64_t draw_lanes(const State& state, std::int32_t stage, Rng& rng) {
    const Operation& operation = state.operation(static_cast<std::size_t>(stage));
    if (operation.axes.empty()) {
      return 1;
    }
    const std::int64_t row = detail::extent_of_loop(state, stage, operation.axes.size() - 1);
    return draw_vector_width(row, detail::most_copy_lanes(state, stage), rng);
  }
};

}  // namespace tensorsmith
