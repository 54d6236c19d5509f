// NativeGpuMutators: mutations of the native space for GPUs.
//
// Floor 7. Own design: those of the reference, MutateCopies and MutateStreamK, drawn again while
// the block does not fit.
#pragma once

#include <optional>

#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/population/draw_copies.hpp"
#include "tensorsmith/search/population/draw_stream_k.hpp"

namespace tensorsmith {

class NativeGpuMutators {
 public:
  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    constexpr int max_draws = 8;
    constexpr double of_copies = 0.2, of_stream_k = 0.05;
    for (int draw = 0; draw < max_draws; ++draw) {
      const bool is_of_copies =
          !space.options().fetch_stages.empty() && rng.next_double() < of_copies;
      const bool is_of_stream_k =
          !is_of_copies && space.options().gpu && rng.next_double() < of_stream_k;
      std::optional<Candidate> child = is_of_copies     ? MutateCopies{}.mutate(space, parent, rng)
                                       : is_of_stream_k ? MutateStreamK{}.mutate(space, parent, rng)
                                                        : mutators_.mutate(space, parent, rng);
      if (child && fits_block(child->state, space.options())) {
        return child;
      }
    }
    return std::nullopt;
  }

 private:
  AnsorGpuMutators mutators_;
};

}  // namespace tensorsmith
