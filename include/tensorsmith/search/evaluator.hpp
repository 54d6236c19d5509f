// Evaluator: texts and scores of candidates within one search round; each program is scored once.
//
// Floor 7. Own design. The work is shared out through the driver's ParallelFor; the result depends
// on the candidates alone.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/random_model.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith {

/// A valid, scored candidate. The text identifies the program.
struct Individual {
  Candidate candidate;
  std::string text;
  float score = invalid_score;
};

/// Better first; equal scores in the order of their texts, so that the order is total.
inline bool is_better(const Individual& a, const Individual& b) {
  return a.score != b.score ? a.score > b.score : a.text < b.text;
}

class Evaluator {
 public:
  /// Scores by the model, or at random by (seed, round, program) without one.
  Evaluator(const SearchCallbacks& callbacks, const CostModel* model, std::uint64_t seed,
            std::uint32_t round)
      : callbacks_(callbacks), model_(model), seed_(seed), round_(round) {}

  /// The valid ones of the candidates, in their order; duplicates stay.
  std::vector<Individual> evaluate(std::vector<Candidate> candidates) {
    std::vector<std::string> texts(candidates.size());
    run_for(callbacks_.parallel_for, candidates.size(),
            [&](std::size_t i) { texts[i] = state_text(candidates[i].state); });

    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (scores_.emplace(texts[i], invalid_score).second) {
        fresh.push_back(i);
      }
    }
    std::vector<FeatureMatrix> features(fresh.size());
    run_for(callbacks_.parallel_for, fresh.size(), [&](std::size_t k) {
      const State& state = candidates[fresh[k]].state;
      if (!has_nested_parallel(state) && (!callbacks_.is_valid || callbacks_.is_valid(state))) {
        features[k] = callbacks_.extract(state);
      }
    });
    std::vector<float> scores(fresh.size(), invalid_score);
    predict(features, scores);
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      scores_[texts[fresh[k]]] = scores[k];
    }

    std::vector<Individual> valid;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const float score = scores_[texts[i]];
      if (score > lowest_valid_score) {
        valid.push_back(Individual{std::move(candidates[i]), std::move(texts[i]), score});
      }
    }
    return valid;
  }

 private:
  static constexpr float lowest_valid_score = -1e10F;  // Ansor reference, ch. 5.2

  void predict(const std::vector<FeatureMatrix>& features, std::vector<float>& scores) const {
    if (model_ == nullptr) {
      for (std::size_t k = 0; k < features.size(); ++k) {
        scores[k] = features[k].empty() ? invalid_score : random_score(seed_, round_, features[k]);
      }
      return;
    }
    constexpr std::size_t chunk = 64;
    const std::span<const FeatureMatrix> programs(features);
    const std::span<float> results(scores);
    run_for(callbacks_.parallel_for, (features.size() + chunk - 1) / chunk, [&](std::size_t c) {
      const std::size_t count = std::min(chunk, features.size() - c * chunk);
      model_->predict(programs.subspan(c * chunk, count), results.subspan(c * chunk, count));
    });
  }

  const SearchCallbacks& callbacks_;
  const CostModel* model_;
  std::uint64_t seed_;
  std::uint32_t round_;
  std::unordered_map<std::string, float> scores_;  ///< looked up only, never walked
};

}  // namespace tensorsmith
