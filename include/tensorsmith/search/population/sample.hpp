// SPDX-License-Identifier: Apache-2.0
// draw_candidate: one random complete program; the rules that complete a sketch are a type.
//
// Floor 7. Ansor reference, ch. 5.1 (rule order on CPUs and GPUs) and 5.2. Not here: random
// numbers, how many are drawn and which are kept (search/counter_sampler.hpp,
// reference_sampler.hpp).
#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tensorsmith/search/population/change_compute_location.hpp"
#include "tensorsmith/search/population/draw_block_groups.hpp"
#include "tensorsmith/search/population/draw_copies.hpp"
#include "tensorsmith/search/population/draw_row_block.hpp"
#include "tensorsmith/search/population/draw_stream_k.hpp"
#include "tensorsmith/search/population/fill_tile_size.hpp"
#include "tensorsmith/search/population/fit_block.hpp"
#include "tensorsmith/search/population/fit_packs.hpp"
#include "tensorsmith/search/population/memory_hints.hpp"
#include "tensorsmith/search/population/parallelize.hpp"
#include "tensorsmith/search/population/thread_bind.hpp"
#include "tensorsmith/search/population/unroll.hpp"
#include "tensorsmith/search/population/vectorize.hpp"

namespace tensorsmith {

/// Rules in the order in which they complete a sketch; each has
/// `bool apply(const SearchSpace&, Candidate&, Rng&) const`, false = no legal program; Rng has
/// next_below(n).
template <class... Rules>
struct PopulationRules {
  std::tuple<Rules...> rules;
};

using AnsorCpuPopulation = PopulationRules<BasicFillTileSize<ReferenceDrawing>,
                                           BasicChangeComputeLocation<ReferenceDrawing>,
                                           BasicParallelize<ReferenceDrawing>, Unroll, Vectorize>;

using AnsorGpuPopulation = PopulationRules<BasicFillTileSize<ReferenceDrawing>, ThreadBind, Unroll>;

/// Nothing that no block can hold.
using NativeGpuPopulation =
    PopulationRules<FitBlock, DrawBlockGroups, Unroll, DrawCopies, DrawStreamK>;

/// For sketches of native_cpu_rules().
using NativeCpuPopulation =
    PopulationRules<FillTileSize, ChangeComputeLocation, Parallelize, Unroll, Vectorize,
                    DrawRowBlock, DrawMemoryHint, FitPacks>;

/// Completes a sketch; nothing if a rule found no legal way.
template <class Rng, class... Rules>
std::optional<Candidate> complete_sketch(const SearchSpace& space,
                                         const PopulationRules<Rules...>& population,
                                         std::uint32_t sketch, Rng& rng) {
  Candidate candidate = space.sketch(sketch);
  const bool legal =
      std::apply([&](const Rules&... rule) { return (rule.apply(space, candidate, rng) && ...); },
                 population.rules);
  if (!legal || !space.refresh(candidate)) {
    return std::nullopt;
  }
  return candidate;
}

/// Draws a sketch uniformly and completes it; nothing if a rule found no legal way.
template <class Rng, class... Rules>
std::optional<Candidate> draw_candidate(const SearchSpace& space,
                                        const PopulationRules<Rules...>& population, Rng& rng) {
  const std::uint32_t sketch = rng.next_below(static_cast<std::uint32_t>(space.sketches().size()));
  return complete_sketch(space, population, sketch, rng);
}

/// The candidate with this history, as the population makes them; nothing if it is illegal.
template <class Population>
std::optional<Candidate> candidate_of(const SearchSpace& space, const Population& population,
                                      const std::vector<Step>& steps) {
  if constexpr (requires { population.candidate_of(space, steps); }) {
    return population.candidate_of(space, steps);
  } else {
    return space.build(steps, space.sketch_of(steps));
  }
}

}  // namespace tensorsmith
