// SPDX-License-Identifier: Apache-2.0
// MutateTileSize: moves a factor from one level of a split to another.
//
// Floor 7. Ansor reference, ch. 5.3. The innermost length stays at most SearchSpace::max_innermost.
// In a space with rounding one mutation of four draws the lengths of the split anew, and of splits
// that are bound to threads (row_threads.hpp) all do. Groups of blocks have mutations of their own.
//     SP i 512 [4, 2, 16]  -->  SP i 512 [2, 4, 16]       (factor 2 from level 1 to level 2)
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/search/block_groups.hpp"
#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/evolution/mutator.hpp"

namespace tensorsmith {

template <class Drawing>
struct BasicMutateTileSize {
  static constexpr std::string_view name() { return "tile_size"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    std::vector<Step> steps = parent.state.steps();
    const std::size_t num_free = num_steps_before_packs(steps);
    const std::vector<BlockLoops> blocks = block_loops(steps, num_sketch_steps(space, parent));
    const std::vector<std::size_t> splits =
        steps_where<SplitStep>(steps, [&](std::size_t at, const SplitStep& split) {
          return at < num_free && split.extent > 1 && !split.lengths.empty() &&
                 (!Drawing::keeps_fixed_lengths || space.splits().is_open(parent.sketch, at)) &&
                 !any_item(blocks, [&](const auto& loops) { return loops.is_split(at); }) &&
                 split.lengths.back() <= space.splits().max_innermost(parent.sketch, at);
        });
    if (splits.empty()) {
      return std::nullopt;
    }
    const std::size_t chosen = pick(splits, rng);
    const std::int64_t max_innermost = space.splits().max_innermost(parent.sketch, chosen);
    SplitStep& split = std::get<SplitStep>(steps[chosen]);
    if (space.splits().is_of_rows(parent.sketch, chosen) ||
        (space.splits().rounding_of(parent.sketch, chosen, split.extent) > 0 &&
         rng.next_below(4) == 0)) {
      std::optional<LengthList> lengths = space.splits().draw(parent.sketch, chosen, split, rng);
      if (!lengths || *lengths == split.lengths) {
        return std::nullopt;
      }
      split.lengths = std::move(*lengths);
    } else if (!move_factor(split, max_innermost, rng)) {
      return std::nullopt;
    }
    return space.build(steps, parent.sketch);
  }

 private:
  static bool move_factor(SplitStep& split, std::int64_t max_innermost, CounterRng& rng) {
    std::vector<std::int64_t> lengths = {1};
    std::int64_t product = 1;
    for (std::int64_t length : split.lengths) {
      lengths.push_back(length);
      product *= length;
    }
    // A split that stayed while another length changed need not divide its extent any more; the
    // reference takes the quotient all the same.
    lengths[0] =
        Drawing::rounds_quotients_up ? ceil_div(split.extent, product) : split.extent / product;
    std::vector<std::size_t> order(lengths.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    rng.shuffle(order);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t from = order[i];
      const std::size_t to = order[(i + 1) % order.size()];
      if (lengths[from] <= 1 || from == to) {
        continue;
      }
      std::vector<std::int64_t> factors;
      for (std::int64_t factor : divisors(lengths[from])) {
        const bool fits = to + 1 != lengths.size() || factor * lengths[to] <= max_innermost;
        if (factor > 1 && fits) {
          factors.push_back(factor);
        }
      }
      if (factors.empty()) {
        continue;
      }
      const std::int64_t factor = pick(factors, rng);
      lengths[from] /= factor;
      lengths[to] *= factor;
      split.lengths.assign(lengths.begin() + 1, lengths.end());  // the outermost is the quotient
      return true;
    }
    return false;
  }
};

using MutateTileSize = BasicMutateTileSize<NativeDrawing>;

}  // namespace tensorsmith
