// SPDX-License-Identifier: Apache-2.0
// PolicyOptions: how the evolutionary policy searches.
//
// Floor 7. Ansor reference, ch. 4.1 and 5.2-5.5; what is beyond it: own design.
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/search/drafted_seeds.hpp"
#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/random_source.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct PolicyOptions {
  std::uint64_t seed = 1;
  std::uint32_t task = 0;  ///< part of every random key, and of the training samples
  EvolutionOptions evolution;
  double epsilon = 0.05;
  double measured_ratio = 0.2;         ///< best measured programs put into the initial population
  std::uint32_t min_population = 50;   ///< distinct programs sampled, if there are as many
  std::uint32_t retries_on_empty = 1;  ///< more rounds after one that found nothing new
  bool model_is_trained = false;       ///< its scores are worth something before any observation
  std::uint32_t num_warmup = 0;        ///< observations that a model needs (more than these)
  bool evolves_untrained = false;      ///< under random scores, where there is no model yet
  bool carries_exploration = true;     ///< see ExplorationShare
  RandomSource random = RandomSource::counter;
  std::optional<Target> target;  ///< for analytic seeds, which need a draft; none: no seeds
  SeedEffort seeds;
  DraftedEffort drafted;  ///< of GPUs
  double near_share = 0;  ///< of a batch: mutations of the best measured programs (own design)
  /// Programs of one batch whose decisions are less apart stand behind those that are; 0: all are
  /// alike. See SearchCallbacks::distance.
  double least_distance = 0;

  /// As the reference searches: roulette by score, no crossover, no carry, 100 observations before
  /// the model is asked, and evolution from the first round on.
  static PolicyOptions reference() {
    PolicyOptions options;
    options.evolution = EvolutionOptions::reference();
    options.num_warmup = 100;
    options.evolves_untrained = true;
    options.carries_exploration = false;
    return options;
  }
};

}  // namespace tensorsmith
