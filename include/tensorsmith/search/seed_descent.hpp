// SPDX-License-Identifier: Apache-2.0
// SeedDescent: seeds improved by moving factors between levels as long as the draft falls.
//
// Floor 7. Own design. Deterministic: what is tried depends on the starts alone. Not here: where
// the starts come from (analytic_seeds.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/seed_maker.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

template <class Population>
class SeedDescent {
 public:
  SeedDescent(const SearchSpace& space, const SeedMaker<Population>& maker)
      : space_(space), maker_(maker) {}

  /// Steepest descent from the first `count`: of all programs that differ by one factor at another
  /// level the best one, as long as it is better. Those after one start come before those after the
  /// next one.
  std::vector<Seed> improved(const std::vector<Seed>& starts, std::size_t count) const {
    std::vector<Descent> all;
    for (std::size_t i = 0; i < smaller_of(count, starts.size()); ++i) {
      const Candidate& start = starts[i].candidate;
      if (start.sketch < space_.sketches().size()) {
        all.push_back({start.sketch,
                       starts[i].attempt,
                       starts[i].draft,
                       first_steps(start.state, start.sketch),
                       {},
                       {}});
      }
    }
    struct Move {
      std::size_t descent, step;
      LengthList lengths;
    };
    std::vector<std::size_t> active;
    for (std::size_t d = 0; d < all.size(); ++d) {
      active.push_back(d);
    }
    for (std::size_t round = 0; round < max_descents && !active.empty(); ++round) {
      std::vector<Move> moves;
      for (std::size_t d : active) {
        const std::vector<Step>& open = space_.sketches()[all[d].sketch].steps();
        for (std::size_t i = 0; i < open.size(); ++i) {
          const SplitStep* split = std::get_if<SplitStep>(&open[i]);
          if (split != nullptr && has_item(split->lengths, unknown_length)) {
            for (LengthList& lengths : moved_factors(std::get<SplitStep>(all[d].steps[i]))) {
              moves.push_back({d, i, std::move(lengths)});
            }
          }
        }
      }
      maker_.make_each(
          moves.size(),
          [&](std::size_t m) {
            const Descent& descent = all[moves[m].descent];
            std::vector<Step> changed = descent.steps;
            std::get<SplitStep>(changed[moves[m].step]).lengths = moves[m].lengths;
            return maker_.complete(descent.sketch, changed, descent.attempt);
          },
          [&](std::size_t m, Seed seed) {
            all[moves[m].descent].tried.push_back(std::move(seed));
          });
      std::erase_if(active, [&](std::size_t d) {
        Descent& descent = all[d];
        keep_best(descent.tried, 1);
        if (descent.tried.empty() || descent.tried[0].draft >= descent.draft * 0.999) {
          return true;
        }
        descent.draft = descent.tried[0].draft;
        descent.steps = first_steps(descent.tried[0].candidate.state, descent.sketch);
        descent.better.push_back(std::move(descent.tried[0]));
        descent.tried.clear();
        return false;
      });
    }
    std::vector<Seed> better;
    for (Descent& descent : all) {
      add_all(better, std::move(descent.better));
    }
    return better;
  }

 private:
  static constexpr std::size_t max_descents = 12;  ///< moves of one start

  /// One start on its way down.
  struct Descent {
    std::uint32_t sketch;
    std::size_t attempt;
    double draft;
    std::vector<Step> steps;   ///< as many as the sketch has
    std::vector<Seed> tried;   ///< one move away
    std::vector<Seed> better;  ///< the best of every round
  };

  /// Those of the sketch, with the lengths of `state`.
  std::vector<Step> first_steps(const State& state, std::uint32_t sketch) const {
    const auto count = static_cast<std::ptrdiff_t>(space_.sketches()[sketch].steps().size());
    return {state.steps().begin(), state.steps().begin() + count};
  }

  /// Every prime factor of every level moved to every other level.
  std::vector<LengthList> moved_factors(const SplitStep& split) const {
    std::vector<LengthList> moves;
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
          moves.push_back(std::move(moved));
        }
      }
    }
    return moves;
  }

  const SearchSpace& space_;
  const SeedMaker<Population>& maker_;
};

}  // namespace tensorsmith::detail
