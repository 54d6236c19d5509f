// SPDX-License-Identifier: Apache-2.0
// MeasuredPrograms: what a policy has seen to run, best first.
//
// Floor 7. Own design. Populations begin with a few of them.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/search/evaluator.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

class MeasuredPrograms {
 public:
  /// In any order; sort() once all of a round are there.
  void add(double throughput, const std::vector<Step>& steps) {
    programs_.push_back({throughput, steps});
  }
  void sort() {
    sort_items(programs_,
               [](const Measured& a, const Measured& b) { return a.throughput > b.throughput; });
  }

  bool empty() const { return programs_.empty(); }
  std::size_t size() const { return programs_.size(); }

  /// The best `count` of them, or as many as there are; those that the space cannot replay are left
  /// out.
  template <class Population>
  std::vector<Candidate> best(std::size_t count, const SearchSpace& space,
                              const Population& population) const {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < programs_.size() && i < count; ++i) {
      if (std::optional<Candidate> candidate =
              candidate_of(space, population, programs_[i].steps)) {
        candidates.push_back(std::move(*candidate));
      }
    }
    return candidates;
  }

 private:
  struct Measured {
    double throughput;
    std::vector<Step> steps;
  };
  std::vector<Measured> programs_;
};

/// Evaluates the candidates and puts those that are valid behind a population.
inline void join(std::vector<Individual>& population, Evaluator& evaluator,
                 std::vector<Candidate> candidates) {
  for (Individual& individual : evaluator.evaluate(std::move(candidates))) {
    population.push_back(std::move(individual));
  }
}

}  // namespace tensorsmith
