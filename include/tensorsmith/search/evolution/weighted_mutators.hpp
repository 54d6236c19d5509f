// SPDX-License-Identifier: Apache-2.0
// WeightedMutators: mutations with the probabilities they are chosen with.
//
// Floor 7. Ansor reference, ch. 5.3 (weights for CPUs and GPUs).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "tensorsmith/search/evolution/mutate_auto_unroll.hpp"
#include "tensorsmith/search/evolution/mutate_compute_location.hpp"
#include "tensorsmith/search/evolution/mutate_parallel.hpp"
#include "tensorsmith/search/evolution/mutate_tile_size.hpp"

namespace tensorsmith {

template <Mutator... Mutators>
class WeightedMutators {
 public:
  /// One weight per mutator, not negative, not all zero; they need not sum to 1.
  explicit WeightedMutators(std::array<double, sizeof...(Mutators)> weights,
                            std::tuple<Mutators...> mutators = {})
      : weights_(weights), mutators_(std::move(mutators)) {}

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    double total = 0.0;
    for (double weight : weights_) {
      total += weight;
    }
    double draw = rng.next_double() * total;
    std::size_t chosen = 0;
    while (chosen + 1 < weights_.size() && draw >= weights_[chosen]) {
      draw -= weights_[chosen++];
    }
    return call(chosen, space, parent, rng, std::index_sequence_for<Mutators...>{});
  }

 private:
  template <std::size_t... Index>
  std::optional<Candidate> call(std::size_t chosen, const SearchSpace& space,
                                const Candidate& parent, CounterRng& rng,
                                std::index_sequence<Index...>) const {
    std::optional<Candidate> child;
    ((Index == chosen ? void(child = std::get<Index>(mutators_).mutate(space, parent, rng))
                      : void()),
     ...);
    return child;
  }

  std::array<double, sizeof...(Mutators)> weights_;
  std::tuple<Mutators...> mutators_;
};

/// The reference's mutations for CPUs, with its weights.
template <class Drawing>
class CpuMutators final
    : public WeightedMutators<BasicMutateTileSize<Drawing>, BasicMutateAutoUnroll<Drawing>,
                              BasicMutateComputeLocation<Drawing>, MutateParallel> {
 public:
  CpuMutators() : CpuMutators::WeightedMutators({0.90, 0.04, 0.05, 0.01}) {}
};
using AnsorCpuMutators = CpuMutators<ReferenceDrawing>;
using NativeCpuMutators = CpuMutators<NativeDrawing>;

/// The reference's mutations for GPUs, with its weights.
template <class Drawing>
class GpuTileMutators final
    : public WeightedMutators<BasicMutateTileSize<Drawing>, BasicMutateAutoUnroll<Drawing>> {
 public:
  GpuTileMutators() : GpuTileMutators::WeightedMutators({0.90, 0.10}) {}
};
using AnsorGpuMutators = GpuTileMutators<ReferenceDrawing>;

}  // namespace tensorsmith
