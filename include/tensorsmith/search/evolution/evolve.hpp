// SPDX-License-Identifier: Apache-2.0
// evolve: generations of mutation and crossover under a score.
//
// Floor 7. Ansor reference, ch. 5.4, with two changes that EvolutionOptions can take back: parents
// are drawn by rank (weight of the k-th best of n is n - k), since scores of learned models have no
// common scale, and there is a crossover. Every attempt has a random stream of its own, keyed by
// (seed, task, round, generation, attempt).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/search/evaluator.hpp"
#include "tensorsmith/search/evolution/crossover.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

struct EvolutionOptions {
  std::uint32_t population = 256;
  std::uint32_t num_generations = 4;
  double mutation_probability = 0.85;   ///< else the parent goes on unchanged
  double crossover_probability = 0.10;  ///< share of the changed children that have two parents
  bool draws_by_score = false;          ///< parents in proportion to their scores if any is above 0

  /// The reference's, ch. 4.1.
  static EvolutionOptions reference() { return {2048, 4, 0.85, 0.0, true}; }

  /// Sizes for a wall-clock budget: ranking must not eat the time that measuring needs.
  static EvolutionOptions for_budget(double seconds) {
    EvolutionOptions options;
    options.population = seconds >= 600 ? 2048 : seconds >= 120 ? 512 : 256;
    options.num_generations = seconds >= 120 ? 4 : 3;
    return options;
  }
};

/// The number of a generation that no population has: for draws beside the evolution.
inline constexpr std::uint32_t max_generation = (1U << 12) - 1;

/// Whose turn it is: the first three parts of a random key.
struct RoundKey {
  std::uint64_t seed = 0;
  std::uint32_t task = 0;
  std::uint32_t round = 0;

  /// Up to 2^20 attempts in each of 2^12 generations; generation 0 is the initial population.
  CounterRng rng(std::uint32_t generation, std::size_t attempt) const {
    return CounterRng(seed, task, round, generation << 20 | static_cast<std::uint32_t>(attempt));
  }
};

/// Index into n items sorted best first, item k with weight n - k.
inline std::size_t draw_rank(std::size_t n, CounterRng& rng) {
  const double u = rng.next_double();
  const auto rank = static_cast<std::size_t>(static_cast<double>(n) * (1.0 - math::sqrt(1.0 - u)));
  return smaller_of(rank, n - 1);
}

/// Draws parents from a generation that is sorted best first.
class ParentDraw {
 public:
  ParentDraw(const std::vector<Individual>& ranked, bool draws_by_score) : ranked_(ranked) {
    double sum = 0.0;
    for (std::size_t i = 0; draws_by_score && i < ranked.size(); ++i) {
      sum += larger_of(0.0, static_cast<double>(ranked[i].score));
      sums_.push_back(sum);
    }
    if (!(sum > 0.0)) {
      sums_.clear();  // no score above zero: by rank (the reference always takes the first then)
    }
  }

  const Candidate& next(CounterRng& rng) const {
    return ranked_[sums_.empty() ? draw_rank(ranked_.size(), rng) : draw_by_score(rng)].candidate;
  }

 private:
  /// The first whose sum of scores, its own included, is not below the draw.
  std::size_t draw_by_score(CounterRng& rng) const {
    const double draw = rng.next_double() * sums_.back();
    std::size_t first = 0, last = sums_.size() - 1;
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (sums_[middle] < draw) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  const std::vector<Individual>& ranked_;
  std::vector<double> sums_;  ///< of the scores so far; empty: draws by rank
};

template <class Mutators>
std::optional<Candidate> make_child(const SearchSpace& space, const Mutators& mutators,
                                    const EvolutionOptions& options, const ParentDraw& parents,
                                    CounterRng& rng) {
  const Candidate& parent = parents.next(rng);
  if (rng.next_double() >= options.mutation_probability) {
    return parent;
  }
  if (rng.next_double() < options.crossover_probability) {
    const Candidate& other = parents.next(rng);
    if constexpr (requires { mutators.cross(space, parent, other, rng); }) {
      return mutators.cross(space, parent, other, rng);
    } else {
      return Crossover{}.cross(space, parent, other, rng);
    }
  }
  return mutators.mutate(space, parent, rng);
}

/// Calls make(attempt) -> optional<Candidate> for attempts 0, 1, 2, ... until `wanted` succeeded or
/// `limit` attempts were made, or time is over. Which attempts count does not depend on the
/// threads.
template <class Make>
std::vector<Candidate> make_candidates(const SearchCallbacks& callbacks, std::size_t wanted,
                                       std::size_t limit, const Make& make) {
  std::vector<Candidate> made;
  std::size_t attempt = 0;
  while (made.size() < wanted && attempt < limit && (attempt == 0 || !callbacks.late())) {
    const std::size_t block = smaller_of(wanted - made.size(), limit - attempt);
    std::vector<std::optional<Candidate>> results(block);
    run_draws(callbacks, block, [&](std::size_t i) { results[i] = make(attempt + i); });
    for (auto& result : results) {
      if (result) {
        made.push_back(std::move(*result));
      }
    }
    attempt += block;
  }
  return made;
}

/// The best `out_size` distinct programs met in all generations for which is_new(text) holds.
template <class Mutators, class IsNew>
std::vector<Individual>
evolve(const SearchSpace& space, const Mutators& mutators, const EvolutionOptions& options,
       const RoundKey& key, const SearchCallbacks& callbacks, Evaluator& evaluator,
       std::vector<Individual> population, std::size_t out_size, const IsNew& is_new) {
  std::vector<Individual> best;
  for (std::uint32_t generation = 1;; ++generation) {
    sort_items(population, is_better);
    for (const Individual& individual : population) {
      if (is_new(individual.text)) {
        best.push_back(individual);
      }
    }
    sort_items(best, is_better);
    std::vector<Individual> distinct;
    for (Individual& individual : best) {
      if (distinct.empty() || distinct.back().text != individual.text) {
        distinct.push_back(std::move(individual));
      }
    }
    best = std::move(distinct);
    if (best.size() > out_size) {
      best.erase(best.begin() + static_cast<std::ptrdiff_t>(out_size), best.end());
    }
    if (generation > options.num_generations || population.empty() || callbacks.late()) {
      return best;
    }
    const ParentDraw parents(population, options.draws_by_score);
    std::vector<Candidate> children =
        make_candidates(callbacks, options.population, std::size_t{4} * options.population,
                        [&](std::size_t attempt) {
                          CounterRng rng = key.rng(generation, attempt);
                          return make_child(space, mutators, options, parents, rng);
                        });
    population = evaluator.evaluate(std::move(children));
  }
}

}  // namespace tensorsmith
