// SPDX-License-Identifier: Apache-2.0
// Seeds of a sketch with several tiled stages: lengths of one stage after the other.
//
// Floor 7. Own design. Stages beside each other are products of their own: what suits one says
// little about another, and all combinations are too many. Starting from one program each stage in
// turn takes that of its tiles and blocks which has the best draft beside those of the others.
// Deterministic. Not here: the first program of a sketch (analytic_seeds.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/search/open_stages.hpp"
#include "tensorsmith/search/seed_maker.hpp"
#include "tensorsmith/search/seed_model.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith::detail {

/// The steps of the sketch with the lengths that the model gives for these choices, one per stage.
inline std::vector<Step> with_lengths(const SearchSpace& space, const SeedModel& model,
                                      std::uint32_t sketch, const std::vector<OpenStage>& stages,
                                      const std::vector<TileChoice>& choices) {
  std::vector<Step> steps = space.sketches()[sketch].steps();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    set_lengths(steps, stages[s], model.lengths(stages[s], choices[s]));
  }
  return steps;
}

/// Choices of every tiled stage.
using StageChoices = std::vector<std::vector<TileChoice>>;

/// The choice of this number of each stage.
inline std::vector<TileChoice> choices_at(const StageChoices& choices, std::size_t number) {
  std::vector<TileChoice> chosen;
  for (const auto& list : choices) {
    chosen.push_back(list[number % list.size()]);
  }
  return chosen;
}

/// All blocks around all tiles of a stage; blocks of rows where other stages are tiled inside.
inline std::vector<TileChoice> choices_of_stage(const SeedModel& model,
                                                const std::vector<OpenStage>& stages,
                                                std::size_t stage, std::size_t num_tiles) {
  if (stages.size() > 1 && has_blocks_only(stages[stage])) {
    return model.row_blocks();
  }
  std::vector<TileChoice> choices;
  for (const TileChoice& tile : model.tiles(stages[stage], num_tiles)) {
    for (const TileChoice& block : model.blocks(stages[stage], tile)) {
      choices.push_back(block);
    }
  }
  return choices;
}

/// The program found and those on the way to it, from `chosen` with this draft; none if that is the
/// best. At most `most` choices of each stage are tried, spread over all of them.
template <class Population>
std::vector<Seed> seeds_by_stage(const SearchSpace& space, const SeedModel& model,
                                 const SeedMaker<Population>& maker, std::uint32_t sketch,
                                 const std::vector<OpenStage>& stages,
                                 std::vector<TileChoice> chosen, double draft,
                                 std::size_t num_tiles, std::size_t most) {
  std::vector<Seed> found;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::vector<TileChoice> choices = choices_of_stage(model, stages, s, num_tiles);
    const std::size_t step = larger_of<std::size_t>((choices.size() + most - 1) / most, 1);
    std::optional<std::size_t> best;
    maker.make_each((choices.size() + step - 1) / step,
                    [&](std::size_t i) {
                      std::vector<TileChoice> changed = chosen;
                      changed[s] = choices[i * step];
                      return maker.complete(sketch,
                                            with_lengths(space, model, sketch, stages, changed), i);
                    },
                    [&](std::size_t i, Seed seed) {
                      if (seed.draft < draft) {
                        draft = seed.draft;
                        best = i * step;
                        found.push_back(std::move(seed));
                      }
                    });
    if (best) {
      chosen[s] = choices[*best];
    }
  }
  return found;
}

}  // namespace tensorsmith::detail
