// SPDX-License-Identifier: Apache-2.0
// FitPacks: gives packed copies the loops and the layout that fit the register tile, caches of
// results their layout, and sums of products their tensor intrinsics.
//
// Floor 7. Own design. Draws nothing: see search/schedule_packs.hpp and apply_intrinsics.hpp. Comes
// last, for the tile and the places of the copies must be known.
//     B.packed: ax0, ax1; C: ..., i.3 (0,6), j.3 (0,64)
//         -->  B.packed: ax0.0 ax1.0 ax0.1 unroll(ax1.1) vectorize(ax0.2), stored in blocks of 64
#pragma once

#include <string_view>
#include <utility>

#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith {

struct FitPacks {
  static constexpr std::string_view name() { return "fit_packs"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng&) const {
    ResultCaches caches;
    for (const Step& step : candidate.state.steps()) {
      caches.follow(step);
    }
    const bool has_caches = space.options().lay_out_results && !caches.stages().empty();
    if (PackedCopies(candidate.state.steps()).empty() && !has_caches &&
        space.options().intrinsics.empty()) {
      return true;
    }
    return space.rebuild(candidate);
  }
};

}  // namespace tensorsmith
