// SPDX-License-Identifier: Apache-2.0
// Analytic seeds: programs whose lengths follow from registers and caches, ranked by the draft.
//
// Floor 7. Own design. A few values of every size (seed_model.hpp) are tried for every tiled stage
// of every sketch, and some programs at random beside them; the usual rules complete the program,
// so that a seed is an ordinary member of the space; then the best are improved by moving factors
// between levels as long as the draft falls. Nothing is measured. Deterministic: the same space and
// key, the same seeds on any number of threads. Not here: the estimate itself
// (cost/draft_model.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/seed_descent.hpp"
#include "tensorsmith/search/seed_maker.hpp"
#include "tensorsmith/search/seed_model.hpp"
#include "tensorsmith/search/seeds_by_stage.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/sort.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

namespace detail {

template <class Population>
class SeedSearch {
 public:
  SeedSearch(const SearchSpace& space, const Population& population,
             const SearchCallbacks& callbacks, const Target& target, const RoundKey& key,
             const SeedEffort& effort)
      : space_(space), callbacks_(callbacks), effort_(effort),
        model_(target, space.options().max_innermost_split_factor),
        maker_(space, population, callbacks, key) {}

  std::vector<Seed> run() {
    const std::size_t count = effort_.count, num_checked = effort_.num_checked;
    std::vector<Seed> seeds = draw_all();
    std::vector<std::uint32_t> untiled;
    add_all(seeds, model_choices(untiled));
    // Without a tile to choose there are places and hints, which the rules draw.
    add_all(seeds, maker_.make_all(untiled.size() * effort_.num_untiled, [&](std::size_t i) {
      return maker_.draw_of(untiled[i / effort_.num_untiled], i);
    }));
    add_hinted(seeds);
    keep_best(seeds, count + count / 2);
    put_regular_first(seeds, effort_.num_improved);
    add_all(seeds, SeedDescent<Population>(space_, maker_).improved(seeds, effort_.num_improved));
    add_hinted(seeds);
    keep_best(seeds, count + count / 2);
    put_regular_first(seeds, num_checked);
    while (seeds.size() > count) {
      seeds.pop_back();
    }
    std::size_t num_built = 0;
    std::erase_if(seeds, [&](const Seed& seed) {  // cannot be built
      const bool is_empty =
          num_built < num_checked && callbacks_.extract(seed.candidate.state).empty();
      num_built += is_empty ? 0 : 1;
      return is_empty;
    });
    return seeds;
  }

  /// The best draft of each sketch in some blocks of the best tile.
  std::vector<double> drafts_of_sketches() const {
    std::vector<std::uint32_t> untiled;
    std::vector<Tried> all = tiled_sketches(untiled);
    std::vector<double> drafts(space_.sketches().size(), math::infinity);
    const auto take = [&](std::uint32_t sketch, const Seed& seed) {
      drafts[sketch] = smaller_of(drafts[sketch], seed.draft);
    };
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < all.size(); ++i) {
      add_trials(all, i, 0, larger_of<std::size_t>(1, all[i].num_choices / effort_.num_blocks),
                 trials);
    }
    try_blocks(all, trials,
               [&](const Trial& trial, const Seed& seed) { take(all[trial.tried].sketch, seed); });
    const std::size_t draws = effort_.num_untiled;
    maker_.make_each(
        untiled.size() * draws,
        [&](std::size_t i) { return maker_.draw_of(untiled[i / draws], i); },
        [&](std::size_t i, const Seed& seed) { take(untiled[i / draws], seed); });
    return drafts;
  }

 private:
  static constexpr std::size_t num_tiles = 6;  ///< of a stage
  /// The best ones with every hint to memory that there is for them, and with none.
  void add_hinted(std::vector<Seed>& seeds) const {
    keep_best(seeds, seeds.size());
    std::vector<std::pair<std::size_t, std::optional<PragmaStep>>> wanted;
    for (std::size_t i = 0; i < smaller_of(effort_.num_hinted, seeds.size()); ++i) {
      const std::vector<PragmaStep> all = possible_memory_hints(space_, seeds[i].candidate);
      if (all.empty()) {
        continue;
      }
      wanted.emplace_back(i, std::nullopt);
      for (const PragmaStep& hint : all) {
        wanted.emplace_back(i, hint);
      }
    }
    add_all(seeds, maker_.make_all(wanted.size(), [&](std::size_t i) {
      const Seed& seed = seeds[wanted[i].first];
      return maker_.rate(with_memory_hint(space_, seed.candidate, wanted[i].second), seed.attempt);
    }));
  }

  /// Keeps the order among the regular ones, and among the others. Looks no further than to the
  /// first `num_wanted` regular ones: what comes behind them may be regular too.
  void put_regular_first(std::vector<Seed>& seeds, std::size_t num_wanted) const {
    std::size_t num_regular = 0;
    for (std::size_t begin = 0; begin < seeds.size() && num_regular < num_wanted;) {
      const std::size_t count = smaller_of(num_wanted - num_regular, seeds.size() - begin);
      run_for(callbacks_.parallel_for, count, [&](std::size_t i) {
        Seed& seed = seeds[begin + i];
        if (!seed.is_regular) {
          seed.is_regular = !callbacks_.is_regular || callbacks_.late() ||
                            callbacks_.is_regular(seed.candidate.state);
        }
      });
      for (std::size_t i = begin; i < begin + count; ++i) {
        num_regular += *seeds[i].is_regular ? 1 : 0;
      }
      begin += count;
    }
    sort_items(seeds, [](const Seed& a, const Seed& b) {
      return a.is_regular.value_or(false) > b.is_regular.value_or(false);
    });
  }

  std::vector<Seed> draw_all() const {
    return maker_.make_all(effort_.num_drawn, [&](std::size_t i) { return maker_.draw(i); });
  }

  using Blocks = StageChoices;

  /// Around one tile of every tiled stage.
  Blocks blocks_around(const std::vector<OpenStage>& stages, std::size_t tile) const {
    Blocks blocks;
    for (const OpenStage& stage : stages) {
      if (stages.size() > 1 && has_blocks_only(stage)) {
        blocks.push_back(model_.row_blocks());
        continue;
      }
      const std::vector<TileChoice> tiles = model_.tiles(stage, num_tiles);
      blocks.push_back(model_.blocks(stage, tiles[tile % tiles.size()]));
    }
    return blocks;
  }

  /// With several tiled stages all of them take the choice of the same number.
  std::optional<Seed> with_block(std::uint32_t sketch, const std::vector<OpenStage>& stages,
                                 const Blocks& blocks, std::size_t block) const {
    const std::vector<TileChoice> chosen = choices_at(blocks, block);
    return maker_.complete(sketch, with_lengths(space_, model_, sketch, stages, chosen), block);
  }

  /// One sketch on the way through model_choices.
  struct Tried {
    std::uint32_t sketch;
    std::vector<OpenStage> stages;
    Blocks blocks = {};            ///< around the best tile
    std::size_t num_choices = 0;   ///< of the stage with most of them
    std::vector<Seed> seeds = {};  ///< best first once ranked
  };

  /// A block to be tried for all[tried].
  struct Trial {
    std::size_t tried;
    const Blocks* blocks;
    std::size_t block;
  };

  /// Blocks first, first + step, first + 2 step, ... of the best tile.
  static void add_trials(const std::vector<Tried>& all, std::size_t tried, std::size_t first,
                         std::size_t step, std::vector<Trial>& trials) {
    for (std::size_t block = first; block < all[tried].num_choices; block += step) {
      trials.push_back({tried, &all[tried].blocks, block});
    }
  }

  template <class Take>
  void try_blocks(const std::vector<Tried>& all, const std::vector<Trial>& trials,
                  const Take& take) const {
    maker_.make_each(
        trials.size(),
        [&](std::size_t i) {
          const Tried& tried = all[trials[i].tried];
          return with_block(tried.sketch, tried.stages, *trials[i].blocks, trials[i].block);
        },
        [&](std::size_t i, Seed seed) { take(trials[i], std::move(seed)); });
  }

  /// Best sketches first, those without a legal program so far last.
  static void rank(std::vector<Tried>& all) {
    for (Tried& tried : all) {
      keep_best(tried.seeds, tried.seeds.size());
    }
    sort_items(all, [](const Tried& a, const Tried& b) {
      if (a.seeds.empty() || b.seeds.empty()) {
        return a.seeds.empty() != b.seeds.empty() ? b.seeds.empty() : a.sketch < b.sketch;
      }
      return a.seeds[0].draft != b.seeds[0].draft ? a.seeds[0].draft < b.seeds[0].draft
                                                  : a.sketch < b.sketch;
    });
  }

  /// `untiled`: the sketches that leave no tile open.
  std::vector<Tried> tiled_sketches(std::vector<std::uint32_t>& untiled) const {
    std::vector<Tried> all;
    for (std::uint32_t sketch = 0; sketch < space_.sketches().size(); ++sketch) {
      const State& steps = space_.sketches()[sketch];
      Tried tried{sketch, open_stages(space_.initial(), steps, space_.options().intrinsics)};
      if (tried.stages.empty()) {
        untiled.push_back(sketch);
        continue;
      }
      tried.blocks = blocks_around(tried.stages, 0);
      for (const auto& list : tried.blocks) {
        tried.num_choices = larger_of(tried.num_choices, list.size());
      }
      all.push_back(std::move(tried));
    }
    return all;
  }

  /// The best tile in some blocks (of very many sketches in few first); for the better half of the
  /// sketches in all of them; for the best ones the other tiles in the blocks that suited it best.
  /// `untiled`: as in tiled_sketches; nothing is tried of them.
  std::vector<Seed> model_choices(std::vector<std::uint32_t>& untiled) const {
    std::vector<Tried> all = tiled_sketches(untiled);
    const auto keep = [&](const Trial& trial, Seed seed) {
      all[trial.tried].seeds.push_back(std::move(seed));
    };
    std::vector<Trial> trials;
    // Some of so many parts of the blocks, for the first sketches.
    const auto try_parts = [&](std::size_t num_sketches, std::size_t first, std::size_t last,
                               std::size_t parts) {
      trials.clear();
      for (std::size_t i = 0; i < num_sketches; ++i) {
        for (std::size_t part = first; part < last; ++part) {
          add_trials(all, i, part, parts, trials);
        }
      }
      try_blocks(all, trials, keep);
      rank(all);
    };
    if (all.size() > effort_.many) {
      try_parts(all.size(), 0, 1, effort_.num_parts * effort_.num_parts);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(effort_.many), all.end());
      for (Tried& tried : all) {
        tried.seeds.clear();  // tried again with the others
      }
    }
    try_parts(all.size(), 0, 1, effort_.num_parts);
    try_parts(smaller_of(all.size(), larger_of(effort_.few, all.size() / 2)), 1, effort_.num_tried,
              effort_.num_parts);
    std::erase_if(all, [](const Tried& tried) { return tried.seeds.empty(); });
    trials.clear();
    std::vector<Blocks> others;
    others.reserve(all.size() * num_tiles);
    for (std::size_t i = 0; i < all.size(); ++i) {
      keep_best(all[i].seeds, 2 * effort_.num_blocks);
      for (std::size_t tile = 1; i < larger_of(effort_.few, all.size() / 3) && tile < num_tiles;
           ++tile) {
        others.push_back(blocks_around(all[i].stages, tile));
        for (std::size_t k = 0; k < smaller_of(effort_.num_blocks, all[i].seeds.size()); ++k) {
          trials.push_back({i, &others.back(), all[i].seeds[k].attempt});
        }
      }
    }
    std::vector<std::vector<Seed>> refined(all.size());
    try_blocks(all, trials, [&](const Trial& trial, Seed seed) {
      refined[trial.tried].push_back(std::move(seed));
    });
    std::vector<Seed> seeds;
    for (std::size_t i = 0; i < smaller_of(all.size(), effort_.few); ++i) {
      if (all[i].stages.size() > 1) {
        const Seed& best = all[i].seeds.front();
        add_all(seeds, seeds_by_stage(space_, model_, maker_, all[i].sketch, all[i].stages,
                                      choices_at(all[i].blocks, best.attempt), best.draft,
                                      num_tiles, effort_.num_of_stage));
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      add_all(seeds, std::move(refined[i]));
      add_all(seeds, std::move(all[i].seeds));
    }
    return seeds;
  }

  const SearchSpace& space_;
  const SearchCallbacks& callbacks_;
  SeedEffort effort_;
  SeedModel model_;
  SeedMaker<Population> maker_;
};

}  // namespace detail

/// The programs with the best draft, regular ones first, best first. `callbacks.draft` must be set.
/// Whether they are regular and can be built is looked at until it is known of the first
/// `effort.num_checked`; behind them the draft alone decides.
template <class Population>
std::vector<Seed> analytic_seeds(const SearchSpace& space, const Population& population,
                                 const SearchCallbacks& callbacks, const Target& target,
                                 const RoundKey& key, const SeedEffort& effort) {
  TENSORSMITH_ASSERT(callbacks.draft, "analytic seeds without a draft");
  return detail::SeedSearch<Population>(space, population, callbacks, target, key, effort).run();
}

/// The least draft of each sketch of the space among a few programs, `effort.num_blocks` or
/// `effort.num_untiled`; infinity if none of them is legal. `callbacks.draft` must be set.
template <class Population>
std::vector<double> drafts_of_sketches(const SearchSpace& space, const Population& population,
                                       const SearchCallbacks& callbacks, const Target& target,
                                       const SeedEffort& effort) {
  TENSORSMITH_ASSERT(callbacks.draft, "a rating of sketches without a draft");
  const RoundKey key{};
  return detail::SeedSearch<Population>(space, population, callbacks, target, key, effort)
      .drafts_of_sketches();
}

}  // namespace tensorsmith
