// SPDX-License-Identifier: Apache-2.0
// Spaces, features and models that the search tests share.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith::test {

inline SearchSpace space_of(Shared<const ComputeDag> dag, std::int32_t num_cores = 4,
                            SpaceOptions options = {}) {
  SketchOptions sketch_options;
  sketch_options.hardware.num_cores = num_cores;
  options.hardware.num_cores = num_cores;
  return SearchSpace(generate_sketches(std::move(dag), ansor_cpu_rules(), sketch_options), options);
}

/// One row: the extents of all loops in order. Enough for a model that looks at tile sizes.
inline Features extents_of(const State& state) {
  FeatureMatrix features;
  auto row = features.add_row();
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
    for (const auto& it : state.stage(stage).iterators) {
      if (at + 1 < row.size()) {
        row[at++] = static_cast<float>(it.extent.value_or(0));
        row[at++] = static_cast<float>(it.annotation);
      }
    }
  }
  return features;
}

/// Scores a program by the product of its loop extents at even places: arbitrary, but smooth under
/// moves of factors.
class ExtentModel final : public CostModel {
 public:
  std::string_view name() const override { return "extent"; }
  void update(std::span<const TrainingSample> samples) override { num_samples += samples.size(); }
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      scores[i] = programs[i].empty() ? invalid_score : score(programs[i]);
    }
  }
  static float score(const Features& features) {
    float sum = 0.0F;
    const auto row = features.block(ansor_block_name).row(0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      sum += row[i] * static_cast<float>(i % 5);
    }
    return sum;
  }
  Result<std::string, CostModelFault> save() const override {
    return refuse(CostModelError::not_supported);
  }
  Result<Done, CostModelFault> load(std::string_view) override {
    return refuse(CostModelError::not_supported);
  }
  std::size_t num_samples = 0;
};

/// Runs bodies on real threads, in an order that differs from run to run.
inline ParallelFor threads(std::size_t count) {
  return [count](std::size_t n, const Callback<void(std::size_t)>& body) {
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < count; ++t) {
      workers.emplace_back([&, t] {
        for (std::size_t i = n; i > 0; --i) {
          if ((i - 1) % count == t) {
            body(i - 1);
          }
        }
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
  };
}

/// A complete random program of the space.
inline Candidate sample_of(const SearchSpace& space, std::uint32_t number) {
  for (std::uint32_t attempt = 0; attempt < 100; ++attempt) {
    CounterRng rng(7, number, 0, attempt);
    if (auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng)) {
      return *candidate;
    }
  }
  TENSORSMITH_ASSERT(false, "no legal program in 100 draws");
  return space.sketch(0);
}

template <class StepType>
std::size_t count_steps(const State& state) {
  return static_cast<std::size_t>(
      std::count_if(state.steps().begin(), state.steps().end(),
                    [](const Step& step) { return std::holds_alternative<StepType>(step); }));
}

}  // namespace tensorsmith::test
