// Analytic seeds: programs whose lengths follow from registers and caches, ranked by the draft.
//
// Floor 7. Own design; the model is that of Low et al., TOMS 2016: a register tile of mr x nr with
// mr * nv + nv + 1 <= registers, a run of kc reductions whose panels fit the first cache, blocks of
// mc and nc whose operands fit the second. A few values of each are tried for every tiled stage of
// every sketch; the usual rules complete the program, so that a seed is an ordinary member of the
// space; then the best are improved by moving factors between levels as long as the draft falls.
// Nothing is measured. Deterministic: the same space and key, the same seeds on any number of
// threads. Not here: the estimate itself (cost/draft_model.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/population/sample.hpp"
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
  std::size_t attempt = 0;  ///< of the random stream that the rules drew from
};

namespace detail {

/// A split of a sketch whose lengths are to be chosen.
struct OpenSplit {
  std::size_t step = 0;
  std::int64_t extent = 1;
  std::size_t num_lengths = 0;
  bool is_reduction = false;
};

/// The open splits of one stage, in the order of its iterators.
using OpenStage = std::vector<OpenSplit>;

inline std::vector<OpenStage> open_stages(const State& initial, const State& sketch) {
  std::vector<OpenStage> stages;
  std::vector<std::string> names;
  State state = initial;
  for (std::size_t i = 0; i < sketch.steps().size(); ++i) {
    const Step& step = sketch.steps()[i];
    const SplitStep* split = std::get_if<SplitStep>(&step);
    if (split != nullptr && has_item(split->lengths, unknown_length) && split->extent > 0) {
      const auto stage = static_cast<std::size_t>(split->stage);
      const auto& iterator = state.stage(stage).iterators[static_cast<std::size_t>(split->iterator)];
      const std::string& name = state.operation(stage).name;
      if (names.empty() || names.back() != name) {
        names.push_back(name);
        stages.emplace_back();
      }
      stages.back().push_back({i, split->extent, split->lengths.size(),
                               iterator.kind == IteratorKind::reduction});
    }
    if (!try_step(state, step)) {
      return {};
    }
  }
  return stages;
}

/// One choice of the model for a stage. Sizes in elements of the axis.
struct TileChoice {
  std::int64_t vectors = 1, rows = 1;  ///< of the register tile
  std::int64_t run = 1;                ///< reductions between two visits of the tile: kc
  /// Register tiles along the rows and along the vector axis, at the two levels of blocks.
  std::int64_t inner_rows = 1, inner_columns = 1, outer_rows = 1, outer_columns = 1;
};

class SeedModel {
 public:
  SeedModel(const Target& target, std::int64_t max_innermost)
      : target_(target), max_innermost_(max_innermost) {}

  /// The lengths of every split of the stage, in its order.
  std::vector<LengthList> lengths(const OpenStage& stage, const TileChoice& choice) const {
    std::vector<LengthList> result(stage.size());
    const std::size_t last = last_spatial(stage);
    std::int64_t rows_left = choice.rows, run_left = choice.run;
    bool is_first_row = true;
    for (std::size_t i = stage.size(); i-- > 0;) {
      const OpenSplit& split = stage[i];
      std::int64_t tile = 1, inner = 1, outer = 1;
      if (split.is_reduction) {
        tile = even_part(split.extent, run_left);
        run_left = ceil_div(run_left, tile);
      } else if (i == last) {
        tile = smaller_of(choice.vectors * lanes(), smaller_of(split.extent, max_innermost_));
        inner = choice.inner_columns;
        outer = choice.outer_columns;
      } else {
        tile = smaller_of(smaller_of(rows_left, split.extent), max_innermost_);
        rows_left = larger_of<std::int64_t>(rows_left / tile, 1);
        inner = is_first_row ? choice.inner_rows : 1;
        outer = is_first_row ? choice.outer_rows : 1;
        is_first_row = false;
      }
      const std::int64_t tiles = ceil_div(split.extent, tile);
      inner = even_part(tiles, inner);
      outer = even_part(ceil_div(tiles, inner), outer);
      LengthList& lengths = result[i];
      lengths = LengthList(split.num_lengths, 1);
      lengths[split.num_lengths - 1] = tile;
      if (split.num_lengths > 1 && !split.is_reduction) {
        lengths[split.num_lengths - 2] = inner;
      }
      if (split.num_lengths > 2 && !split.is_reduction) {
        lengths[split.num_lengths - 3] = outer;
      }
    }
    return result;
  }

  /// Register tiles by the share of the arithmetic units that they keep busy, best first.
  std::vector<TileChoice> tiles(const OpenStage& stage, std::size_t most) const {
    const std::size_t last = last_spatial(stage);
    if (last == stage.size()) {
      return {TileChoice{}};
    }
    std::int64_t row_extent = 1;
    for (std::size_t i = 0; i < stage.size(); ++i) {
      row_extent *= i != last && !stage[i].is_reduction ? stage[i].extent : 1;
    }
    struct Rated {
      TileChoice choice;
      double share;
    };
    std::vector<Rated> rated;
    const std::int64_t most_vectors =
        smaller_of<std::int64_t>(4, ceil_div(stage[last].extent, lanes()));
    for (std::int64_t vectors = 1; vectors <= most_vectors; ++vectors) {
      const std::int64_t most_rows = larger_of<std::int64_t>(
          (target_.num_vector_registers - vectors - 1) / vectors, 1);
      for (std::int64_t rows = 1; rows <= smaller_of(most_rows, row_extent); ++rows) {
        TileChoice choice;
        choice.vectors = vectors;
        choice.rows = rows;
        rated.push_back({choice, share(vectors, rows, stage[last].extent, row_extent)});
      }
    }
    sort_items(rated, [](const Rated& a, const Rated& b) { return a.share > b.share; });
    std::vector<TileChoice> best;
    for (const Rated& one : rated) {
      // At most two heights of one width: variety counts more than the last percent.
      const std::size_t alike = count_items(
          best, [&](const TileChoice& other) { return other.vectors == one.choice.vectors; });
      if (best.size() < most && alike < 2) {
        best.push_back(one.choice);
      }
    }
    return best;
  }

  /// Blocks around a register tile: the whole reduction or a part; tiles that share an operand.
  std::vector<TileChoice> blocks(const OpenStage& stage, const TileChoice& tile) const {
    std::int64_t reduction = 1, tiles_down = 1, tiles_across = 1;
    const std::size_t last = last_spatial(stage);
    for (std::size_t i = 0; i < stage.size(); ++i) {
      if (stage[i].is_reduction) {
        reduction *= stage[i].extent;
      } else if (i == last) {
        tiles_across = ceil_div(stage[i].extent, tile.vectors * lanes());
      } else {
        tiles_down *= stage[i].extent;
      }
    }
    tiles_down = ceil_div(tiles_down, tile.rows);
    const std::int64_t l1 = target_.caches.l1d_bytes.value_or(32 * 1024) / element_bytes;
    const std::int64_t l2 = target_.caches.l2_bytes.value_or(256 * 1024) / element_bytes;
    const std::int64_t columns = tile.vectors * lanes();
    const std::int64_t kc = larger_of<std::int64_t>(l1 / (tile.rows + columns), 1);
    std::vector<std::int64_t> runs;
    add_new(runs, {reduction, smaller_of(kc, reduction), smaller_of(2 * kc, reduction),
                   smaller_of(kc / 2 + 1, reduction)});
    std::vector<TileChoice> choices;
    for (std::int64_t run : runs) {
      const std::int64_t across = smaller_of(fit(l2 / 2, run * columns), tiles_across);
      const std::int64_t down = smaller_of(fit(l2 / 2, run * tile.rows), tiles_down);
      const std::int64_t near_across = smaller_of(fit(l1 / 2, run * columns), tiles_across);
      std::vector<std::int64_t> inner_columns, inner_rows;
      add_new(inner_columns, {1, near_across, across});
      add_new(inner_rows, {1, down});
      for (std::int64_t c : inner_columns) {
        for (std::int64_t r : inner_rows) {
          std::vector<std::int64_t> outer_columns, outer_rows;
          add_new(outer_columns, {1, ceil_div(across, c), ceil_div(tiles_across, c)});
          add_new(outer_rows, {1, ceil_div(down, r), ceil_div(tiles_down, r)});
          for (std::int64_t oc : outer_columns) {
            for (std::int64_t orows : outer_rows) {
              TileChoice choice = tile;
              choice.run = run;
              choice.inner_columns = c;
              choice.inner_rows = r;
              choice.outer_columns = oc;
              choice.outer_rows = orows;
              choices.push_back(choice);
            }
          }
        }
      }
    }
    return choices;
  }

 private:
  static constexpr std::int64_t element_bytes = 4;

  std::int64_t lanes() const {
    return larger_of<std::int64_t>(target_.vector_lanes(8 * element_bytes), 1);
  }
  static std::size_t last_spatial(const OpenStage& stage) {
    std::size_t last = stage.size();
    for (std::size_t i = 0; i < stage.size(); ++i) {
      last = stage[i].is_reduction ? last : i;
    }
    return last;
  }
  static std::int64_t fit(std::int64_t room, std::int64_t size) {
    return larger_of<std::int64_t>(room / larger_of<std::int64_t>(size, 1), 1);
  }
  static void add_new(std::vector<std::int64_t>& values, std::initializer_list<std::int64_t> more) {
    for (std::int64_t value : more) {
      if (!has_item(values, value)) {
        values.push_back(value);
      }
    }
  }
  /// `whole` in parts of about `wanted`, all of one size if that can be had nearby.
  static std::int64_t even_part(std::int64_t whole, std::int64_t wanted) {
    if (wanted >= whole) {
      return whole;
    }
    const std::int64_t count = ceil_div(whole, larger_of<std::int64_t>(wanted, 1));
    for (std::int64_t parts = count; parts < count + count / 2 + 1; ++parts) {
      if (whole % parts == 0) {
        return whole / parts;
      }
    }
    return ceil_div(whole, count);
  }
  /// Busy share of the arithmetic units: filled tiles over the steps that they take.
  double share(std::int64_t vectors, std::int64_t rows, std::int64_t columns,
               std::int64_t row_extent) const {
    const auto real = [](std::int64_t x) { return static_cast<double>(x); };
    const double units = target_.fma_per_cycle.value_or(2);
    const double arithmetic = real(rows * vectors) / units;
    double step = larger_of(arithmetic, real(rows + vectors) / 2);
    step = larger_of(step, static_cast<double>(target_.fma_latency.value_or(4)));
    const double fill_columns =
        real(columns) / real(ceil_div(columns, vectors * lanes()) * vectors * lanes());
    const double fill_rows = real(row_extent) / real(ceil_div(row_extent, rows) * rows);
    return arithmetic / step * fill_columns * (0.5 + 0.5 * fill_rows);
  }

  const Target& target_;
  std::int64_t max_innermost_;
};

template <class Population>
class SeedSearch {
 public:
  SeedSearch(const SearchSpace& space, const Population& population,
             const SearchCallbacks& callbacks, const Target& target, const RoundKey& key)
      : space_(space), population_(population), callbacks_(callbacks),
        model_(target, space.options().max_innermost_split_factor), key_(key) {}

  std::vector<Seed> run(std::size_t count) {
    std::vector<Seed> seeds = draw_all();
    for (std::uint32_t sketch = 0; sketch < space_.sketches().size(); ++sketch) {
      add_all(seeds, model_choices(sketch));
    }
    keep_best(seeds, larger_of<std::size_t>(count, num_improved));
    std::vector<Seed> better;
    for (std::size_t i = 0; i < smaller_of(num_improved, seeds.size()); ++i) {
      improve(seeds[i], better);
    }
    add_all(seeds, std::move(better));
    keep_best(seeds, count);
    std::erase_if(seeds, [&](const Seed& seed) {  // cannot be built
      return callbacks_.extract(seed.candidate.state).empty();
    });
    return seeds;
  }

 private:
  static constexpr std::size_t num_drawn = 96;      ///< at random, from the whole space
  static constexpr std::size_t num_improved = 4;    ///< starts of the descent
  static constexpr std::size_t max_descents = 12;   ///< moves of one start
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

  /// The best tile in all blocks; then the other tiles in the blocks that suited it best. With
  /// several tiled stages all of them take the choice of the same number.
  std::vector<Seed> model_choices(std::uint32_t sketch) const {
    constexpr std::size_t most_tiles = 6, most_blocks = 8;
    const std::vector<OpenStage> stages =
        open_stages(space_.initial(), space_.sketches()[sketch]);
    if (stages.empty()) {
      return {};
    }
    const auto blocks_of = [&](std::size_t tile) {
      std::vector<std::vector<TileChoice>> blocks;
      for (const OpenStage& stage : stages) {
        const std::vector<TileChoice> tiles = model_.tiles(stage, most_tiles);
        blocks.push_back(model_.blocks(stage, tiles[tile % tiles.size()]));
      }
      return blocks;
    };
    const auto try_one = [&](const std::vector<std::vector<TileChoice>>& blocks,
                             std::size_t block) {
      std::vector<TileChoice> chosen;
      for (const auto& list : blocks) {
        chosen.push_back(list[block % list.size()]);
      }
      return complete(sketch, with_lengths(sketch, stages, chosen), block);
    };
    const std::vector<std::vector<TileChoice>> first = blocks_of(0);
    std::size_t count = 0;
    for (const auto& list : first) {
      count = larger_of(count, list.size());
    }
    std::vector<Seed> seeds =
        make_all(count, [&](std::size_t block) { return try_one(first, block); });
    keep_best(seeds, 2 * most_blocks);
    std::vector<std::size_t> suited;
    for (std::size_t i = 0; i < smaller_of(most_blocks, seeds.size()); ++i) {
      suited.push_back(seeds[i].attempt);
    }
    for (std::size_t tile = 1; tile < most_tiles; ++tile) {
      const std::vector<std::vector<TileChoice>> others = blocks_of(tile);
      add_all(seeds, make_all(suited.size(),
                              [&](std::size_t i) { return try_one(others, suited[i]); }));
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

/// The `count` programs with the best draft, best first. `callbacks.draft` must be set.
template <class Population>
std::vector<Seed> analytic_seeds(const SearchSpace& space, const Population& population,
                                 const SearchCallbacks& callbacks, const Target& target,
                                 const RoundKey& key, std::size_t count) {
  TENSORSMITH_ASSERT(callbacks.draft, "analytic seeds without a draft");
  return detail::SeedSearch<Population>(space, population, callbacks, target, key).run(count);
}

}  // namespace tensorsmith
