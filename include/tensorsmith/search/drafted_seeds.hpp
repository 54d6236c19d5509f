// SPDX-License-Identifier: Apache-2.0
// Drafted seeds: the best programs of a space by its draft alone, found by mutations.
//
// Floor 7. Own design. Programs are drawn at random; then the best few are mutated as in evolution,
// and of parents and children the best few stay, as long as that makes them better. It asks nothing
// of how a space tiles, so it serves every space that has a draft and mutators; where lengths
// follow from registers and caches, analytic_seeds.hpp needs fewer programs. Nothing is measured.
// Deterministic: the same space and key, the same seeds on any number of threads.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/search/seed_maker.hpp"

namespace tensorsmith {

/// How much is tried.
struct DraftedEffort {
  std::size_t count = 32;         ///< seeds
  std::size_t num_drawn = 192;    ///< at random, from the whole space
  std::size_t num_parents = 12;   ///< that are mutated in a round
  std::size_t num_children = 12;  ///< of each of them
  std::size_t max_rounds = 24;
  std::size_t patience = 3;  ///< rounds without a better best one that end it

  /// For the best one only.
  static DraftedEffort single() { return {8, 128, 8, 12, 16, 3}; }
  /// No more than a search tries in a generation of such a population.
  DraftedEffort at_most(std::size_t population) const {
    DraftedEffort less = *this;
    less.num_drawn = smaller_of(num_drawn, population);
    less.num_parents = smaller_of(num_parents, larger_of<std::size_t>(1, population / 16));
    less.max_rounds = smaller_of(max_rounds, larger_of<std::size_t>(1, population / 8));
    return less;
  }
};

/// Best draft first; no program twice. `callbacks.draft` must be set.
template <class Population, class Mutators>
std::vector<Seed> drafted_seeds(const SearchSpace& space, const Population& population,
                                const Mutators& mutators, const SearchCallbacks& callbacks,
                                const RoundKey& key, const DraftedEffort& effort) {
  TENSORSMITH_ASSERT(callbacks.draft, "drafted seeds without a draft");
  constexpr std::uint32_t first_generation = 0xF10;  // of the random streams
  const detail::SeedMaker<Population> maker(space, population, callbacks, key);
  std::vector<Seed> best =
      maker.make_all(effort.num_drawn, [&](std::size_t i) { return maker.draw(i); });
  const std::size_t most_kept = larger_of(effort.count, effort.num_parents);
  detail::keep_best(best, most_kept);
  std::size_t without_better = 0;
  for (std::uint32_t round = 0;
       round < effort.max_rounds && without_better < effort.patience && !best.empty(); ++round) {
    const std::size_t num_parents = smaller_of(effort.num_parents, best.size());
    std::vector<Seed> children =
        maker.make_all(num_parents * effort.num_children, [&](std::size_t i) {
          CounterRng rng = key.rng(first_generation + round, i);
          return maker.rate(mutators.mutate(space, best[i % num_parents].candidate, rng), i);
        });
    const double before = best.front().draft;
    detail::add_all(best, std::move(children));
    detail::keep_best(best, most_kept);
    without_better = best.front().draft < 0.999 * before ? 0 : without_better + 1;
  }
  while (best.size() > effort.count) {
    best.pop_back();
  }
  return best;
}

}  // namespace tensorsmith
