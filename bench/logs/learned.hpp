// SPDX-License-Identifier: Apache-2.0
// What cost models that learn make of one log: half of it trains them, the other half tests them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"

namespace tensorsmith::bench {

/// Of the half that was not learned from.
struct LearnedQuality {
  double pair_accuracy = 0, spearman = 0;
  double best_of_1 = 0,
         best_of_5 = 0;  ///< best speed among the first by score, of the best there is
  double mean_of_5 = 0;  ///< the mean of the best of 1, of 2, ... of 5
  std::size_t num_tested = 0;
};

/// Of a model that is trained.
LearnedQuality quality_of(const CostModel& model, const std::vector<TrainingSample>& tested);

/// Which programs train is drawn by the seed.
LearnedQuality learned_quality(CostModel& model, const std::vector<TrainingSample>& samples,
                               std::uint64_t seed);

/// The models that bench_logs trains, by name, as the reference trains them or as searches do;
/// `is_limited`: by the work of an update, as in a search, else all epochs.
Shared<CostModel> make_learner(const std::string& name, bool as_reference, std::uint64_t seed,
                               bool is_limited = true);

}  // namespace tensorsmith::bench
