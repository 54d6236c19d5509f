// SPDX-License-Identifier: Apache-2.0
// NativeGpuMutators: mutations of the native space for GPUs.
//
// Floor 7. Own design: those of the reference, MutateCopies, MutateStreamK and MutateBlockGroups,
// drawn again while the block does not fit.
#pragma once

#include <optional>
#include <utility>

#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/population/draw_block_groups.hpp"
#include "tensorsmith/search/population/draw_copies.hpp"
#include "tensorsmith/search/population/draw_stream_k.hpp"

namespace tensorsmith {

class NativeGpuMutators {
 public:
  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    constexpr int max_draws = 8;
    for (int draw = 0; draw < max_draws; ++draw) {
      std::optional<Candidate> child = mutate_once(space, parent, rng);
      if (child && fits_block(child->state, space.options())) {
        return fit_block_groups(space, std::move(*child));
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Candidate> mutate_once(const SearchSpace& space, const Candidate& parent,
                                       CounterRng& rng) const {
    constexpr double of_copies = 0.2, of_stream_k = 0.05, of_groups = 0.05;
    const SpaceOptions& options = space.options();
    if (!options.fetch_stages.empty() && rng.next_double() < of_copies) {
      return MutateCopies{}.mutate(space, parent, rng);
    }
    if (options.gpu && rng.next_double() < of_stream_k) {
      return MutateStreamK{}.mutate(space, parent, rng);
    }
    if (options.gpu && options.groups_blocks && rng.next_double() < of_groups) {
      return MutateBlockGroups{}.mutate(space, parent, rng);
    }
    return mutators_.mutate(space, parent, rng);
  }

  GpuTileMutators<NativeDrawing> mutators_;
};

}  // namespace tensorsmith
