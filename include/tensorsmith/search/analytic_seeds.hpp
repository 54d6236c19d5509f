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

#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/search/seed_model.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/sort.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// A complete program with its estimate.
struct Seed {
  Candidate candidate;
  std::string text;
  double draft = 0;
  std::size_t attempt = 0;                        ///< of the random stream that the rules drew from
  std::optional<bool> is_regular = std::nullopt;  ///< if SearchCallbacks::is_regular was asked
};

namespace detail {

template <class Population>
class SeedSearch {
 public:
  SeedSearch(const SearchSpace& space, const Population& population,
             const SearchCallbacks& callbacks, const Target& target, const RoundKey& key)
      : space_(space), population_(population), callbacks_(callbacks),
        model_(target, space.options().max_innermost_split_factor), key_(key) {}

  std::vector<Seed> run(std::size_t count) {
    std::vector<Seed> seeds = draw_all();
    add_all(seeds, model_choices());
    add_hinted(seeds);
    keep_best(seeds, count + count / 2);
    put_regular_first(seeds);
    std::vector<Seed> better;
    for (std::size_t i = 0; i < smaller_of(num_improved, seeds.size()); ++i) {
      improve(seeds[i], better);
    }
    add_all(seeds, std::move(better));
    add_hinted(seeds);
    keep_best(seeds, count + count / 2);
    put_regular_first(seeds);
    while (seeds.size() > count) {
      seeds.pop_back();
    }
    std::erase_if(seeds, [&](const Seed& seed) {  // cannot be built
      return callbacks_.extract(seed.candidate.state).empty();
    });
    return seeds;
  }

 private:
  static constexpr std::size_t num_drawn = 96;        ///< at random, from the whole space
  static constexpr std::size_t num_tiles = 6;         ///< of a stage
  static constexpr std::size_t num_blocks = 8;        ///< that the other tiles are tried in
  static constexpr std::size_t num_parts = 4;         ///< a quarter of the blocks ranks sketches
  static constexpr std::size_t few = 4;               ///< so many sketches are never too many
  static constexpr std::size_t num_improved = 4;      ///< starts of the descent
  static constexpr std::size_t num_hinted = 8;        ///< programs tried with other hints to memory
  static constexpr std::size_t max_descents = 12;     ///< moves of one start
  static constexpr std::uint32_t generation = 0xF00;  ///< of the random streams

  static void add_all(std::vector<Seed>& seeds, std::vector<Seed> more) {
    for (Seed& seed : more) {
      seeds.push_back(std::move(seed));
    }
  }

  static void keep_best(std::vector<Seed>& seeds, std::size_t count) {
    sort_items(seeds, [](const Seed& a, const Seed& b) {
      return a.draft != b.draft ? a.draft < b.draft : a.text < b.text;
    });
    HashSet<std::string> known;
    std::vector<Seed> best;
    for (Seed& seed : seeds) {
      if (best.size() < count && known.insert(seed.text)) {
        best.push_back(std::move(seed));
      }
    }
    seeds = std::move(best);
  }

  /// The best ones with every hint to memory that there is for them, and with none.
  void add_hinted(std::vector<Seed>& seeds) const {
    keep_best(seeds, seeds.size());
    std::vector<std::pair<std::size_t, std::optional<PragmaStep>>> wanted;
    for (std::size_t i = 0; i < smaller_of(num_hinted, seeds.size()); ++i) {
      const std::vector<PragmaStep> all = possible_memory_hints(space_, seeds[i].candidate);
      if (all.empty()) {
        continue;
      }
      wanted.emplace_back(i, std::nullopt);
      for (const PragmaStep& hint : all) {
        wanted.emplace_back(i, hint);
      }
    }
    add_all(seeds, make_all(wanted.size(), [&](std::size_t i) {
              const Seed& seed = seeds[wanted[i].first];
              return rate(with_memory_hint(space_, seed.candidate, wanted[i].second), seed.attempt);
            }));
  }

  /// Keeps the order among the regular ones, and among the others.
  void put_regular_first(std::vector<Seed>& seeds) const {
    run_for(callbacks_.parallel_for, seeds.size(), [&](std::size_t i) {
      if (!seeds[i].is_regular) {
        seeds[i].is_regular =
            !callbacks_.is_regular || callbacks_.is_regular(seeds[i].candidate.state);
      }
    });
    sort_items(seeds, [](const Seed& a, const Seed& b) { return *a.is_regular > *b.is_regular; });
  }

  std::optional<Seed> rate(std::optional<Candidate> candidate, std::size_t attempt) const {
    if (!candidate || has_nested_parallel(candidate->state) ||
        (callbacks_.is_valid && !callbacks_.is_valid(candidate->state))) {
      return std::nullopt;
    }
    Seed seed{std::move(*candidate), {}, 0, attempt};
    seed.text = state_text(seed.candidate.state);
    seed.draft = callbacks_.draft(seed.candidate.state);
    return seed;
  }

  /// The sketch with these lengths (one list per split, by step), completed by the rules.
  std::optional<Seed> complete(std::uint32_t sketch, const std::vector<Step>& steps,
                               std::size_t attempt) const {
    CounterRng rng = key_.rng(generation, attempt);
    std::optional<Candidate> candidate = space_.build(steps, sketch);
    if (!candidate) {
      return std::nullopt;
    }
    const bool is_legal = std::apply(
        [&](const auto& first, const auto&... rule) {
          (void)first;  // fills lengths, which are known
          return (rule.apply(space_, *candidate, rng) && ...);
        },
        population_.rules);
    if (!is_legal || !space_.refresh(*candidate)) {
      return std::nullopt;
    }
    return rate(std::move(candidate), attempt);
  }

  template <class Make>
  std::vector<Seed> make_all(std::size_t count, const Make& make) const {
    std::vector<std::optional<Seed>> made(count);
    run_for(callbacks_.parallel_for, count, [&](std::size_t i) { made[i] = make(i); });
    std::vector<Seed> seeds;
    for (std::optional<Seed>& seed : made) {
      if (seed) {
        seeds.push_back(std::move(*seed));
      }
    }
    return seeds;
  }

  std::vector<Seed> draw_all() const {
    return make_all(num_drawn, [&](std::size_t i) {
      CounterRng rng = key_.rng(generation + 1, i);
      return rate(draw_candidate(space_, population_, rng), i);
    });
  }

  std::vector<Step> with_lengths(std::uint32_t sketch, const std::vector<OpenStage>& stages,
                                 const std::vector<TileChoice>& choices) const {
    std::vector<Step> steps = space_.sketches()[sketch].steps();
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::vector<LengthList> lengths = model_.lengths(stages[s], choices[s]);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        std::get<SplitStep>(steps[stages[s][i].step]).lengths = lengths[i];
      }
    }
    return steps;
  }

  /// The lists of blocks around one tile of every tiled stage.
  using Blocks = std::vector<std::vector<TileChoice>>;

  Blocks blocks_around(const std::vector<OpenStage>& stages, std::size_t tile) const {
    Blocks blocks;
    for (const OpenStage& stage : stages) {
      const std::vector<TileChoice> tiles = model_.tiles(stage, num_tiles);
      blocks.push_back(model_.blocks(stage, tiles[tile % tiles.size()]));
    }
    return blocks;
  }

  /// With several tiled stages all of them take the choice of the same number.
  std::optional<Seed> with_block(std::uint32_t sketch, const std::vector<OpenStage>& stages,
                                 const Blocks& blocks, std::size_t block) const {
    std::vector<TileChoice> chosen;
    for (const auto& list : blocks) {
      chosen.push_back(list[block % list.size()]);
    }
    return complete(sketch, with_lengths(sketch, stages, chosen), block);
  }

  /// One sketch on the way through model_choices.
  struct Tried {
    std::uint32_t sketch;
    std::vector<OpenStage> stages;
    Blocks blocks;            ///< around the best tile
    std::size_t num_choices;  ///< of the stage with most of them
    std::vector<Seed> seeds;  ///< best first once ranked
  };

  /// Blocks first, first + step, first + 2 step, ... of the best tile.
  void try_blocks(Tried& tried, std::size_t first, std::size_t step) const {
    if (first < tried.num_choices) {
      add_all(tried.seeds, make_all(ceil_div(tried.num_choices - first, step), [&](std::size_t i) {
                return with_block(tried.sketch, tried.stages, tried.blocks, first + i * step);
              }));
    }
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

  /// The best tile in some blocks; for the better half of the sketches in all of them; for the best
  /// ones the other tiles in the blocks that suited it best.
  std::vector<Seed> model_choices() const {
    std::vector<Tried> all;
    for (std::uint32_t sketch = 0; sketch < space_.sketches().size(); ++sketch) {
      Tried tried{sketch, open_stages(space_.initial(), space_.sketches()[sketch]), {}, 0, {}};
      if (tried.stages.empty()) {
        continue;
      }
      tried.blocks = blocks_around(tried.stages, 0);
      for (const auto& list : tried.blocks) {
        tried.num_choices = larger_of(tried.num_choices, list.size());
      }
      try_blocks(tried, 0, num_parts);
      all.push_back(std::move(tried));
    }
    rank(all);
    for (std::size_t i = 0; i < smaller_of(all.size(), larger_of(few, all.size() / 2)); ++i) {
      for (std::size_t part = 1; part < num_parts; ++part) {
        try_blocks(all[i], part, num_parts);
      }
    }
    std::erase_if(all, [](const Tried& tried) { return tried.seeds.empty(); });
    rank(all);
    std::vector<Seed> seeds;
    const std::size_t num_refined = larger_of(few, all.size() / 3);
    for (std::size_t i = 0; i < all.size(); ++i) {
      Tried& tried = all[i];
      keep_best(tried.seeds, 2 * num_blocks);
      std::vector<std::size_t> suited;
      for (std::size_t k = 0; k < smaller_of(num_blocks, tried.seeds.size()); ++k) {
        suited.push_back(tried.seeds[k].attempt);
      }
      for (std::size_t tile = 1; i < num_refined && tile < num_tiles; ++tile) {
        const Blocks others = blocks_around(tried.stages, tile);
        add_all(seeds, make_all(suited.size(), [&](std::size_t k) {
                  return with_block(tried.sketch, tried.stages, others, suited[k]);
                }));
      }
      add_all(seeds, std::move(tried.seeds));
    }
    return seeds;
  }

  /// Steepest descent: of all programs that differ by one factor at another level the best one, as
  /// long as it is better.
  void improve(const Seed& start, std::vector<Seed>& better) const {
    const std::uint32_t sketch = start.candidate.sketch;
    if (sketch >= space_.sketches().size()) {
      return;
    }
    const std::vector<Step>& open = space_.sketches()[sketch].steps();
    std::vector<Step> steps(start.candidate.state.steps().begin(),
                            start.candidate.state.steps().begin() +
                                static_cast<std::ptrdiff_t>(open.size()));
    double draft = start.draft;
    for (std::size_t descent = 0; descent < max_descents; ++descent) {
      std::vector<std::pair<std::size_t, LengthList>> moves;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const SplitStep* split = std::get_if<SplitStep>(&open[i]);
        if (split != nullptr && has_item(split->lengths, unknown_length)) {
          add_moves(i, std::get<SplitStep>(steps[i]), moves);
        }
      }
      std::vector<Seed> tried = make_all(moves.size(), [&](std::size_t m) {
        std::vector<Step> changed = steps;
        std::get<SplitStep>(changed[moves[m].first]).lengths = moves[m].second;
        return complete(sketch, changed, start.attempt);
      });
      keep_best(tried, 1);
      if (tried.empty() || tried[0].draft >= draft * 0.999) {
        return;
      }
      draft = tried[0].draft;
      const auto& done = tried[0].candidate.state.steps();
      steps.assign(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(open.size()));
      better.push_back(std::move(tried[0]));
    }
  }

  /// Every prime factor of every level moved to every other level.
  void add_moves(std::size_t step, const SplitStep& split,
                 std::vector<std::pair<std::size_t, LengthList>>& moves) const {
    std::vector<std::int64_t> lengths(split.lengths.begin(), split.lengths.end());
    std::int64_t product = 1;
    for (std::int64_t length : lengths) {
      product *= length;
    }
    lengths.insert(lengths.begin(), ceil_div(split.extent, product));
    for (std::size_t from = 0; from < lengths.size(); ++from) {
      for (std::int64_t factor : {2, 3, 5, 7}) {
        for (std::size_t to = 0; lengths[from] % factor == 0 && to < lengths.size(); ++to) {
          const bool fits = to + 1 < lengths.size() ||
                            lengths[to] * factor <= space_.options().max_innermost_split_factor;
          if (to == from || !fits) {
            continue;
          }
          LengthList moved(lengths.begin() + 1, lengths.end());
          if (from > 0) {
            moved[from - 1] /= factor;
          }
          if (to > 0) {
            moved[to - 1] *= factor;
          }
          moves.emplace_back(step, moved);
        }
      }
    }
  }

  const SearchSpace& space_;
  const Population& population_;
  const SearchCallbacks& callbacks_;
  SeedModel model_;
  RoundKey key_;
};

}  // namespace detail

/// The `count` programs with the best draft, regular ones first, best first. `callbacks.draft` must
/// be set.
template <class Population>
std::vector<Seed> analytic_seeds(const SearchSpace& space, const Population& population,
                                 const SearchCallbacks& callbacks, const Target& target,
                                 const RoundKey& key, std::size_t count) {
  TENSORSMITH_ASSERT(callbacks.draft, "analytic seeds without a draft");
  return detail::SeedSearch<Population>(space, population, callbacks, target, key).run(count);
}

}  // namespace tensorsmith
