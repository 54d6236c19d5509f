// SPDX-License-Identifier: Apache-2.0
// CounterSampler: the initial population of a round, each program from a random stream of its own.
//
// Floor 7. Ansor reference, ch. 5.2; the streams: own design (support/rng.hpp). A program is a pure
// function of (seed, task, round, attempt), so the number of threads changes nothing. Not here: the
// reference's random numbers (reference_sampler.hpp), rules (population/sample.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/search/evaluator.hpp"
#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith {

class CounterSampler {
 public:
  /// Programs are drawn in batches until there are `wanted` distinct ones.
  CounterSampler(std::size_t batch, std::size_t wanted) : batch_(batch), wanted_(wanted) {}

  /// Distinct valid programs: the wanted number, or fewer if a batch brings nothing new or the
  /// first five bring nothing at all.
  template <class Population>
  std::vector<Individual> sample(const SearchSpace& space, const Population& population,
                                 const SearchCallbacks& callbacks, const RoundKey& key,
                                 Evaluator& evaluator) {
    constexpr std::size_t max_empty_batches = 5;  // Ansor reference, ch. 5.2
    constexpr std::size_t max_attempts = std::size_t{1} << 20;
    std::vector<Individual> accepted;
    HashSet<std::string> known;
    for (std::size_t first = 0; first + batch_ <= max_attempts; first += batch_) {
      std::vector<Candidate> drawn =
          make_candidates(callbacks, batch_, batch_, [&](std::size_t attempt) {
            CounterRng rng = key.rng(0, first + attempt);
            return draw_candidate(space, population, rng);
          });
      const std::size_t before = accepted.size();
      for (Individual& individual : evaluator.evaluate(std::move(drawn))) {
        if (known.insert(individual.text)) {
          accepted.push_back(std::move(individual));
        }
      }
      const bool nothing_new = accepted.size() == before;
      if (accepted.size() >= wanted_ || callbacks.late() || (nothing_new && before > 0) ||
          (before == 0 && nothing_new && first + batch_ >= max_empty_batches * batch_)) {
        break;
      }
    }
    return accepted;
  }

  /// `count` of a population that is not empty, with repetitions.
  std::vector<Individual> pick(const std::vector<Individual>& population, std::size_t count,
                               const RoundKey& key) {
    CounterRng rng = key.rng(max_generation, 0);
    std::vector<Individual> picked;
    for (std::size_t i = 0; i < count; ++i) {
      picked.push_back(population[rng.next_below(static_cast<std::uint32_t>(population.size()))]);
    }
    return picked;
  }

 private:
  std::size_t batch_, wanted_;
};

}  // namespace tensorsmith
