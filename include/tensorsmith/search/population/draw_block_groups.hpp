// SPDX-License-Identifier: Apache-2.0
// DrawBlockGroups: which tiles of a product are computed at about the same time.
//
// Floor 7. Own design; nothing in a space without a board. The blocks of a group read the same part
// of an operand that does not change along their loop, and what lies in L2 serves them all. Asked
// only where the blocks that the board holds at a time read less so: never if it holds all of them.
// Half of such programs have a group. Tensor cores have groups of their own
// (sketch/rules/tile_for_tensor_cores.hpp).
//     gemm of 64 x 64 tiles, 216 at a time: 4 rows of A and all columns of B
//         -->  in groups of 16 rows: 16 rows of A and 14 columns of B
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/search/block_groups.hpp"
#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/population/board_waves.hpp"
#include "tensorsmith/search/population/fit_block.hpp"

namespace tensorsmith {
namespace detail {

/// Of a stage, as they are where its loops over tiles are fused.
struct TileLoops {
  std::vector<std::int64_t> extents;  ///< of the loops over tiles
  std::size_t num_iterators = 0;
};

inline std::optional<TileLoops> tile_loops(const SearchSpace& space, const std::vector<Step>& steps,
                                           const BlockLoops& loops) {
  State state = space.initial();
  for (std::size_t at = 0; at < loops.first_step(); ++at) {
    if (!try_step(state, steps[at])) {
      return std::nullopt;
    }
  }
  const auto& iterators = state.stage(static_cast<std::size_t>(loops.stage)).iterators;
  TileLoops found{{}, iterators.size()};
  for (std::size_t loop = 0; loop < static_cast<std::size_t>(loops.count); ++loop) {
    found.extents.push_back(iterators[loop].extent.value_or(1));
  }
  return found;
}

/// How many tiles along each loop the first `wave` blocks have.
inline std::vector<std::int64_t> covered_tiles(const std::vector<std::int64_t>& extents,
                                               const BlockGroup& group, std::int64_t wave) {
  std::vector<std::int64_t> covered(extents.size(), 1);
  const auto take = [&](std::size_t loop, std::int64_t most) {
    covered[loop] *= smaller_of(most, wave);
    wave = ceil_div(wave, most);
  };
  const auto grouped = static_cast<std::size_t>(group.loop);
  take(grouped, group.length);
  for (std::size_t loop = extents.size(); loop-- > 0;) {
    take(loop, loop == grouped ? extents[loop] / group.length : extents[loop]);
  }
  return covered;
}

/// Bytes that the tiles so covered read per step of the sums that are computed inside of `root`.
inline double covered_bytes(const State& state, std::int32_t root,
                            const std::vector<std::int64_t>& extents,
                            const std::vector<std::int64_t>& covered) {
  const ExprPool& pool = state.dag().pool();
  double bytes = 0;
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    const Operation& op = state.operation(id);
    if (state.stage(id).compute_at != ComputeAt::iterator || op.reduce_axes.empty() ||
        op.axes.size() != extents.size() || root_of(state, static_cast<std::int32_t>(id)) != root) {
      continue;
    }
    const auto add = [&](ExprId read) {
      double of_read = bytes_of(pool.dtype(read));
      for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        of_read *= uses_var(pool, read, op.axes[axis].var)
                       ? static_cast<double>(op.axes[axis].extent * covered[axis]) /
                             static_cast<double>(extents[axis])
                       : 1;
      }
      bytes += of_read;
    };
    for (const ExprId body : op.bodies) {
      visit_expr(pool, body, [&](ExprId expr) {
        if (pool.as<TensorRead>(expr) != nullptr) {
          add(expr);
        }
      });
    }
  }
  return bytes;
}

/// Every group with which the blocks that a board holds at a time read a tenth less than without,
/// of the loops over tiles of one stage of a complete program. Like tiles of threads it divides:
/// else every access of every block would have a condition.
inline std::vector<BlockGroup> group_choices(const SearchSpace& space, const State& state,
                                             const BlockLoops& loops, const TileLoops& tiles) {
  constexpr std::int64_t longest = 32;
  constexpr double worth = 0.9;
  std::vector<BlockGroup> choices;
  const GpuLimits& gpu = *space.options().gpu;
  const std::int64_t wave =
      gpu.board->num_sms *
      blocks_held(gpu, block_needs(state)[static_cast<std::size_t>(loops.stage)]);
  const auto bytes = [&](const BlockGroup& group) {
    return covered_bytes(state, loops.stage, tiles.extents,
                         covered_tiles(tiles.extents, group, wave));
  };
  const double without = wave > 0 ? bytes(BlockGroup{}) : 0;
  for (std::int32_t loop = 0; loop + 1 < loops.count && without > 0; ++loop) {
    const std::int64_t extent = tiles.extents[static_cast<std::size_t>(loop)];
    for (std::int64_t length = 2; length <= smaller_of(extent, longest); ++length) {
      const BlockGroup group{loop, extent, length};
      if (extent % length == 0 && bytes(group) <= worth * without) {
        choices.push_back(group);
      }
    }
  }
  return choices;
}

inline bool groups_blocks(const SearchSpace& space) {
  return space.options().groups_blocks && space.options().gpu;
}

}  // namespace detail

struct DrawBlockGroups {
  static constexpr std::string_view name() { return "draw_block_groups"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    const std::size_t own = num_sketch_steps(space, candidate);
    const std::size_t count =
        detail::groups_blocks(space) ? block_loops(candidate.state.steps(), own).size() : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<Step>& steps = candidate.state.steps();
      const BlockLoops loops = block_loops(steps, own)[i];
      const auto tiles = detail::tile_loops(space, steps, loops);
      if (!tiles) {
        return false;
      }
      const auto choices = detail::group_choices(space, candidate.state, loops, *tiles);
      if (choices.empty() || rng.next_below(2) == 0) {
        continue;
      }
      const BlockGroup drawn = choices[rng.next_below(static_cast<std::uint32_t>(choices.size()))];
      auto grouped = space.build(with_block_group(steps, loops, drawn, tiles->num_iterators),
                                 candidate.sketch);
      if (!grouped) {
        return false;
      }
      candidate = std::move(*grouped);
    }
    return true;
  }
};

/// Draws another group of the tiles of one stage, or none.
struct MutateBlockGroups {
  static constexpr std::string_view name() { return "block_groups"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    const std::vector<Step>& steps = parent.state.steps();
    std::vector<std::vector<Step>> mutants;
    if (!detail::groups_blocks(space)) {
      return std::nullopt;
    }
    for (const BlockLoops& loops : block_loops(steps, num_sketch_steps(space, parent))) {
      const auto tiles = detail::tile_loops(space, steps, loops);
      if (!tiles) {
        continue;
      }
      const std::optional<BlockGroup> before = block_group(steps, loops);
      for (const BlockGroup& group : detail::group_choices(space, parent.state, loops, *tiles)) {
        if (group != before) {
          mutants.push_back(with_block_group(steps, loops, group, tiles->num_iterators));
        }
      }
      if (before) {
        mutants.push_back(with_block_group(steps, loops, std::nullopt, tiles->num_iterators));
      }
    }
    return mutants.empty() ? std::nullopt : space.build(pick(mutants, rng), parent.sketch);
  }
};

/// A mutation of tiles leaves groups as they were: those that are none of the choices any more
/// become the next shorter one that is, or end.
inline std::optional<Candidate> fit_block_groups(const SearchSpace& space, Candidate candidate) {
  const std::size_t own = num_sketch_steps(space, candidate);
  const std::size_t count =
      detail::groups_blocks(space) ? block_loops(candidate.state.steps(), own).size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Step>& steps = candidate.state.steps();
    const BlockLoops loops = block_loops(steps, own)[i];
    const std::optional<BlockGroup> before = block_group(steps, loops);
    const auto tiles = before ? detail::tile_loops(space, steps, loops) : std::nullopt;
    if (!tiles) {
      continue;
    }
    std::optional<BlockGroup> fitting;
    for (const BlockGroup& group : detail::group_choices(space, candidate.state, loops, *tiles)) {
      if (group.loop == before->loop && group.length <= before->length) {
        fitting = group;  // the longest so far
      }
    }
    if (fitting == before) {
      continue;
    }
    auto built = space.build(with_block_group(steps, loops, fitting, tiles->num_iterators),
                             candidate.sketch);
    if (!built) {
      return std::nullopt;
    }
    candidate = std::move(*built);
  }
  return candidate;
}

}  // namespace tensorsmith
