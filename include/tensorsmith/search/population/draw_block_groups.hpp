// DrawBlockGroups: which tiles of a product are computed at about the same time.
//
// Floor 7. Own design; nothing in a space without a board. Asked only where the tiles are more than
// the board holds at a time, of a loop along which some operand does not change: the blocks of a
// group read the same part of it, and what lies in L2 serves them all. Half of such programs have a
// group. Tensor cores have groups of their own (sketch/rules/tile_for_tensor_cores.hpp).
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

/// Whether a sum that is computed inside of `root` reads something that is the same all along one
/// of its axes.
inline bool is_shared_along(const State& state, std::int32_t root, std::size_t axis) {
  const ExprPool& pool = state.dag().pool();
  bool is_shared = false;
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    const Operation& op = state.operation(id);
    if (state.stage(id).compute_at != ComputeAt::iterator || op.reduce_axes.empty() ||
        axis >= op.axes.size() || root_of(state, static_cast<std::int32_t>(id)) != root) {
      continue;
    }
    for (const ExprId body : op.bodies) {
      visit_expr(pool, body, [&](ExprId expr) {
        is_shared = is_shared || (pool.as<TensorRead>(expr) != nullptr &&
                                  !uses_var(pool, expr, op.axes[axis].var));
      });
    }
  }
  return is_shared;
}

/// Every group that is worth a try, of the loops over tiles of one stage of a complete program.
/// Like tiles of threads it divides: else every access of every block would have a condition.
inline std::vector<BlockGroup> group_choices(const SearchSpace& space, const State& state,
                                             const BlockLoops& loops, const TileLoops& tiles) {
  constexpr std::int64_t longest = 32;
  std::vector<BlockGroup> choices;
  const auto root = static_cast<std::size_t>(loops.stage);
  const GpuLimits& gpu = *space.options().gpu;
  const std::int64_t wave = gpu.board->num_sms * blocks_held(gpu, block_needs(state)[root]);
  std::int64_t inside = 1;  // blocks per iteration of the loop
  for (std::size_t loop = tiles.extents.size(); loop-- > 0;) {
    const std::int64_t extent = tiles.extents[loop];
    if (inside > 1 && inside * extent > wave &&
        state.operation(root).axes.size() == tiles.extents.size() &&
        is_shared_along(state, loops.stage, loop)) {
      for (std::int64_t length = 2; length <= smaller_of(smaller_of(extent, wave), longest);
           ++length) {
        if (extent % length == 0) {
          choices.push_back({static_cast<std::int32_t>(loop), extent, length});
        }
      }
    }
    inside *= extent;
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
