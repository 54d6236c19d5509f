// SPDX-License-Identifier: Apache-2.0
// ChangeComputeLocation: gives every stage that is neither tiled nor inlined a random place.
//
// Floor 7. Ansor reference, ch. 5.1. One draw per stage, from the last to the first: inline it (if
// it is attached and purely spatial), compute it at root, or at one of the candidate iterators.
//     for y: pad; for i0 i1 i2: conv  -->  for i0: { for y: pad } for i1 i2: conv
#pragma once

#include <string_view>

#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/location_candidates.hpp"
#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith {

template <class Drawing>
struct BasicChangeComputeLocation {
  static constexpr std::string_view name() { return "change_compute_location"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    if (!space.options().change_compute_location) {
      return true;
    }
    State& state = candidate.state;
    for (auto stage = static_cast<std::int32_t>(state.num_stages()) - 1; stage >= 0; --stage) {
      if (!has_free_location(state, *candidate.analysis, stage) ||
          space.places(candidate.sketch, stage)) {
        continue;
      }
      const std::vector<IteratorKey> places =
          location_candidates(state, *candidate.analysis, stage);
      const std::uint32_t choice = rng.next_below(static_cast<std::uint32_t>(places.size()) + 2);
      bool legal = true;
      if (choice == 0) {
        const bool is_attached =
            state.stage(static_cast<std::size_t>(stage)).compute_at == ComputeAt::iterator;
        const StageAccess& facts = candidate.analysis->stage(static_cast<std::uint32_t>(stage));
        if (is_attached && !has_non_spatial_iterator(state, stage) &&
            !facts.is_too_long_to_inline) {
          legal = try_step(state, ComputeInlineStep{stage});
        }
      } else if (choice == 1) {
        legal = try_step(state, ComputeRootStep{stage});
      } else {
        const IteratorKey place = places[choice - 2];
        legal = try_step(state, ComputeAtStep{stage, place.stage, place.iterator});
      }
      if (!legal) {
        return false;
      }
    }
    return Drawing::infers_bounds_before_places ? space.refresh(candidate)
                                                : space.rebuild(candidate);
  }
};

using ChangeComputeLocation = BasicChangeComputeLocation<NativeDrawing>;

}  // namespace tensorsmith
