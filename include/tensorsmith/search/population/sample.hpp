// SPDX-License-Identifier: Apache-2.0
// draw_candidate: one random complete program; the rules that complete a sketch are a type.
//
// Floor 7. Ansor reference, ch. 5.1 (rule order on CPUs and GPUs) and 5.2. Two sources of random
// numbers: a counter-based stream per program (support/rng.hpp), or the reference's generators, so
// that a seed draws the reference's programs.
// Not here: how many are drawn and which are kept (search/evolutionary_policy.hpp).
#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tensorsmith/search/policy.hpp"
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
#include "tensorsmith/support/mersenne_twister.hpp"

namespace tensorsmith {

/// Rules in the order in which they complete a sketch; each has
/// `bool apply(const SearchSpace&, Candidate&, Rng&) const`, false = no legal program; Rng has
/// next_below(n).
template <class... Rules>
struct PopulationRules {
  std::tuple<Rules...> rules;
};

using AnsorCpuPopulation =
    PopulationRules<FillTileSize, ChangeComputeLocation, Parallelize, Unroll, Vectorize>;

using AnsorGpuPopulation = PopulationRules<FillTileSize, ThreadBind, Unroll>;

/// The same without what no block can hold.
using NativeGpuPopulation =
    PopulationRules<FitBlock, DrawBlockGroups, Unroll, DrawCopies, DrawStreamK>;

/// For sketches of native_cpu_rules(); for the reference's it draws what AnsorCpuPopulation draws.
using NativeCpuPopulation =
    PopulationRules<FillTileSize, ChangeComputeLocation, Parallelize, Unroll, Vectorize,
                    DrawRowBlock, DrawMemoryHint, FitPacks>;

/// Draws a sketch uniformly and completes it; nothing if a rule found no legal way.
template <class Rng, class... Rules>
std::optional<Candidate> draw_candidate(const SearchSpace& space,
                                        const PopulationRules<Rules...>& population, Rng& rng) {
  const std::uint32_t sketch = rng.next_below(static_cast<std::uint32_t>(space.sketches().size()));
  Candidate candidate = space.sketch(sketch);
  const bool legal =
      std::apply([&](const Rules&... rule) { return (rule.apply(space, candidate, rng) && ...); },
                 population.rules);
  if (!legal || !space.refresh(candidate)) {
    return std::nullopt;
  }
  return candidate;
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

/// The reference's generators for one initial population: one for each of its programs, seeded by
/// draws from the policy's own.
class ReferenceSampler {
 public:
  ReferenceSampler(MersenneTwister& policy, std::size_t population) {
    generators_.reserve(population);
    for (std::size_t i = 0; i < population; ++i) {
      generators_.emplace_back(policy.next_u32());
    }
  }

  /// The legal ones of the next programs, one per generator, in that order.
  template <class Population>
  std::vector<Candidate> draw(const SearchSpace& space, const Population& population,
                              const ParallelFor& parallel_for) {
    std::vector<std::optional<Candidate>> drawn(generators_.size());
    run_for(parallel_for, drawn.size(),
            [&](std::size_t i) { drawn[i] = draw_candidate(space, population, generators_[i]); });
    std::vector<Candidate> legal;
    for (std::optional<Candidate>& candidate : drawn) {
      if (candidate) {
        legal.push_back(std::move(*candidate));
      }
    }
    return legal;
  }

 private:
  std::vector<MersenneTwister> generators_;
};

}  // namespace tensorsmith
