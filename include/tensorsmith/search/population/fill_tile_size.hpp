// SPDX-License-Identifier: Apache-2.0
// FillTileSize: decides every open split length.
//
// Floor 7. Ansor reference, ch. 5.1. Lengths are drawn uniformly from all ordered factorizations
// whose last length is at most SketchSplits::max_innermost; the outermost part is the quotient.
//     SP i 512 [?, ?, ?]  -->  SP i 512 [4, 2, 16]        (one of 210)
#pragma once

#include <string_view>
#include <utility>
#include <variant>

#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

template <class Drawing>
struct BasicFillTileSize {
  static constexpr std::string_view name() { return "fill_tile_size"; }

  /// Expects the candidate to be a sketch; replays it, since lengths decide extents and dags. In
  /// the reference the new extents are not known before the places of stages are drawn.
  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    std::vector<Step> steps = candidate.state.steps();
    for (std::size_t at = 0; at < steps.size(); ++at) {
      SplitStep* split = std::get_if<SplitStep>(&steps[at]);
      if (split == nullptr || !has_item(split->lengths, unknown_length)) {
        continue;
      }
      std::optional<LengthList> lengths = space.splits().draw(candidate.sketch, at, *split, rng);
      if (split->extent < 1 || !lengths) {
        return false;
      }
      split->lengths = std::move(*lengths);
    }
    if (!Drawing::infers_bounds_before_places && space.options().change_compute_location) {
      candidate.state.mutable_steps() = std::move(steps);
      candidate.state.set_concrete(true);
      return true;
    }
    std::optional<Candidate> filled = space.build(steps, candidate.sketch);
    if (!filled) {
      return false;
    }
    candidate = std::move(*filled);
    return true;
  }
};

using FillTileSize = BasicFillTileSize<NativeDrawing>;

}  // namespace tensorsmith
