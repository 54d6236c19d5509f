// draw_candidate: one random complete program; the rules that complete a sketch are a type.
//
// Floor 7. Ansor reference, ch. 5.1 (rule order on CPUs) and 5.2.
// Not here: how many are drawn and which are kept (search/evolutionary_policy.hpp).
#pragma once

#include <optional>
#include <tuple>

#include "tensorsmith/search/population/change_compute_location.hpp"
#include "tensorsmith/search/population/fill_tile_size.hpp"
#include "tensorsmith/search/population/fit_packs.hpp"
#include "tensorsmith/search/population/parallelize.hpp"
#include "tensorsmith/search/population/prefetch.hpp"
#include "tensorsmith/search/population/unroll.hpp"
#include "tensorsmith/search/population/vectorize.hpp"

namespace tensorsmith {

/// Rules in the order in which they complete a sketch; each has
/// `bool apply(const SearchSpace&, Candidate&, CounterRng&) const`, false = no legal program.
template <class... Rules>
struct PopulationRules {
  std::tuple<Rules...> rules;
};

using AnsorCpuPopulation =
    PopulationRules<FillTileSize, ChangeComputeLocation, Parallelize, Unroll, Vectorize>;

/// For sketches of native_cpu_rules(); for the reference's it draws what AnsorCpuPopulation draws.
using NativeCpuPopulation = PopulationRules<FillTileSize, ChangeComputeLocation, Parallelize,
                                            Unroll, Vectorize, DrawPrefetch, FitPacks>;

/// Draws a sketch uniformly and completes it; nothing if a rule found no legal way.
template <class... Rules>
std::optional<Candidate> draw_candidate(const SearchSpace& space,
                                        const PopulationRules<Rules...>& population,
                                        CounterRng& rng) {
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

}  // namespace tensorsmith
