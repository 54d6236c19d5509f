// SPDX-License-Identifier: Apache-2.0
// DrawStreamK: whether the blocks that a board holds at a time share the sums of all tiles out.
//
// Floor 7. Own design; nothing in a space without a board. Asked only where a block per tile leaves
// the last wave of blocks with little to do; half of such programs are drawn so, because the second
// kernel and the way of the parts through memory cost time too.
//     gemm of 120 tiles, 108 multiprocessors that hold one block each
//         -->  C stream_k: 108
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/population/board_waves.hpp"
#include "tensorsmith/search/population/draw_copies.hpp"
#include "tensorsmith/search/population/fit_block.hpp"

namespace tensorsmith {
namespace detail {

/// Blocks of the kernel of a stage at the root: one per tile.
inline std::int64_t num_tiles(const State& state, std::int32_t root) {
  std::int64_t tiles = 1;
  for (const auto& it : state.stage(static_cast<std::size_t>(root)).iterators) {
    tiles *= is_block_annotation(it.annotation) ? it.extent.value_or(1) : 1;
  }
  return tiles;
}

/// How many of so many slots tiles fill, the last wave included.
inline double wave_fill(std::int64_t tiles, std::int64_t slots) {
  const std::int64_t waves = (tiles + slots - 1) / slots;
  return static_cast<double>(tiles) / static_cast<double>(waves * slots);
}

/// Every legal choice for a complete program: the stage of a sum whose operands are copied to
/// shared memory, and how many blocks share it out. Registers are an estimate, so one block per
/// multiprocessor less is a choice too.
inline std::vector<PragmaStep> stream_k_choices(const State& state, const SpaceOptions& options) {
  constexpr double good_fill = 0.9;
  std::vector<PragmaStep> choices;
  if (!options.gpu) {
    return choices;
  }
  const std::vector<BlockNeeds> needs = block_needs(state);
  std::vector<std::int32_t> readers;
  for (const std::int32_t copy : shared_copies(state)) {
    const std::int32_t reader = state.attach_map().stage_to_iterator.at(copy).stage;
    const Operation& op = state.operation(static_cast<std::size_t>(reader));
    if (has_item(readers, reader) || op.reduce_axes.empty() ||
        state.stage(static_cast<std::size_t>(reader)).is_partial_sum) {
      continue;
    }
    readers.push_back(reader);
    const std::int32_t root = root_of(state, reader);
    const std::int64_t tiles = num_tiles(state, root);
    const std::int64_t held = blocks_held(*options.gpu, needs[static_cast<std::size_t>(root)]);
    for (std::int64_t each = larger_of<std::int64_t>(1, held - 1); each <= held; ++each) {
      const std::int64_t slots = each * options.gpu->board->num_sms;
      if (slots > 1 && slots < tiles && wave_fill(tiles, slots) < good_fill) {
        choices.push_back(PragmaStep{reader, 0, hints::StreamK{static_cast<std::int32_t>(slots)}});
      }
    }
  }
  return choices;
}

}  // namespace detail

struct DrawStreamK {
  static constexpr std::string_view name() { return "draw_stream_k"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    const std::vector<PragmaStep> choices =
        detail::stream_k_choices(candidate.state, space.options());
    if (choices.empty() || rng.next_below(2) == 0) {
      return true;
    }
    return try_step(candidate.state,
                    choices[rng.next_below(static_cast<std::uint32_t>(choices.size()))]);
  }
};

/// Gives every tile a block of its own again, or shares the sums out.
struct MutateStreamK {
  static constexpr std::string_view name() { return "stream_k"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    std::vector<Step> steps = parent.state.steps();
    const std::size_t before = steps.size();
    std::erase_if(steps, has_hint<hints::StreamK>);
    if (steps.size() == before) {
      const std::vector<PragmaStep> choices =
          detail::stream_k_choices(parent.state, space.options());
      if (choices.empty()) {
        return std::nullopt;
      }
      steps.push_back(pick(choices, rng));
    }
    return space.build(steps, parent.sketch);
  }
};

}  // namespace tensorsmith
