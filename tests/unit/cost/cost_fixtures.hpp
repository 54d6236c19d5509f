// SPDX-License-Identifier: Apache-2.0
// Synthetic programs for the cost model tests: features with a known, non-linear throughput.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

/// 1 to 4 rows; columns 0..39 vary, the others are 0, as most columns of a real program are.
inline Features synthetic_features(std::uint64_t seed, std::uint32_t index) {
  CounterRng rng(seed, index);
  FeatureMatrix features;
  const std::uint32_t num_rows = 1 + rng.next_below(4);
  for (std::uint32_t r = 0; r < num_rows; ++r) {
    const auto row = features.add_row();
    for (std::size_t i = 0; i < 40; ++i) {
      row[i] = static_cast<float>(10.0 * rng.next_double());
    }
  }
  return features;
}

/// Time = sum over rows of a product term, a threshold and a linear part.
inline double synthetic_seconds(const Features& features) {
  const FeatureBlock& rows = features.block(ansor_block_name);
  double seconds = 1.0;
  for (std::uint32_t r = 0; r < rows.num_rows; ++r) {
    const auto row = rows.row(r);
    seconds += 0.1 * row[0] * row[1] + 0.5 * row[2] + (row[3] > 5.0F ? 3.0 : 0.0);
  }
  return seconds;
}

/// `count` samples of `task`, numbered from `first`; another task has another scale.
inline std::vector<TrainingSample> synthetic_samples(std::uint64_t seed, std::uint32_t first,
                                                     std::uint32_t count, std::uint32_t task = 0) {
  std::vector<TrainingSample> samples;
  for (std::uint32_t i = first; i < first + count; ++i) {
    TrainingSample sample;
    sample.features = synthetic_features(seed, i);
    sample.task = task;
    sample.throughput = 1e9 * (task + 1) / synthetic_seconds(sample.features);
    samples.push_back(sample);
  }
  return samples;
}

inline std::vector<Features> features_of(const std::vector<TrainingSample>& samples) {
  std::vector<Features> features;
  for (const TrainingSample& sample : samples) {
    features.push_back(sample.features);
  }
  return features;
}

inline std::vector<float> scores_of(const CostModel& model, const std::vector<Features>& programs) {
  std::vector<float> scores(programs.size());
  model.predict(programs, scores);
  return scores;
}

}  // namespace tensorsmith::test
