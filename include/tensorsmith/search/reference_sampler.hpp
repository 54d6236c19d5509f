// SPDX-License-Identifier: Apache-2.0
// ReferenceSampler: the initial population as the reference samples it, with its random numbers.
//
// Floor 7. Ansor reference, ch. 5.2. With the reference's rules (AnsorCpuPopulation,
// AnsorGpuPopulation) a seed draws the reference's programs. Not here: streams per program
// (counter_sampler.hpp), rules and what is odd about the reference's (drawing.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/search/evaluator.hpp"
#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/mersenne_twister.hpp"

namespace tensorsmith {

/// The generators of one initial population: one for each of its programs, seeded by draws from
/// the policy's own.
class ReferenceGenerators {
 public:
  ReferenceGenerators(MersenneTwister& policy, std::size_t population) {
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

class ReferenceSampler {
 public:
  /// Programs are drawn in batches until there are `wanted` distinct ones. `seed` is the policy's.
  ReferenceSampler(std::uint32_t seed, std::size_t batch, std::size_t wanted)
      : generator_(seed), batch_(batch), wanted_(wanted) {}

  /// Distinct programs that the evaluator finds valid. Five batches in a row without a new one
  /// halve the number that is wanted, for later rounds too; where nothing at all is valid the
  /// reference goes on for ever, this ends.
  template <class Population>
  std::vector<Individual> sample(const SearchSpace& space, const Population& population,
                                 const SearchCallbacks& callbacks, const RoundKey&,
                                 Evaluator& evaluator) {
    constexpr int max_empty_batches = 5;
    ReferenceGenerators generators(generator_, batch_);
    std::vector<Individual> accepted;
    HashSet<std::string> known;
    int num_empty = 0;
    while (accepted.size() < wanted_) {
      const std::size_t before = accepted.size();
      for (Individual& individual :
           evaluator.evaluate(generators.draw(space, population, callbacks.parallel_for))) {
        if (known.insert(individual.text)) {
          accepted.push_back(std::move(individual));
        }
      }
      num_empty = accepted.size() == before ? num_empty + 1 : 0;
      if (num_empty == max_empty_batches) {
        if (wanted_ <= 1) {
          break;
        }
        wanted_ /= 2;
        num_empty = 0;
      }
    }
    return accepted;
  }

  /// `count` of a population that is not empty, with repetitions, by the policy's own generator.
  std::vector<Individual> pick(const std::vector<Individual>& population, std::size_t count,
                               const RoundKey&) {
    std::vector<Individual> picked;
    for (std::size_t i = 0; i < count; ++i) {
      picked.push_back(
          population[generator_.next_below(static_cast<std::uint32_t>(population.size()))]);
    }
    return picked;
  }

 private:
  MersenneTwister generator_;
  std::size_t batch_, wanted_;
};

}  // namespace tensorsmith
