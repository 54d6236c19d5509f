// SPDX-License-Identifier: Apache-2.0
// Evaluator: texts, features and scores of candidates within one search round; each program is
// looked at once.
//
// Floor 7. Own design. The work is shared out through the driver's ParallelFor; the result depends
// on the candidates alone.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/random_model.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// A valid, scored candidate. The text identifies the program.
struct Individual {
  Candidate candidate;
  std::string text;
  float score = invalid_score;
  Shared<const Features> features = {};  ///< what it was scored by
};

/// Better first; equal scores in the order of their texts, so that the order is total.
inline bool is_better(const Individual& a, const Individual& b) {
  return a.score != b.score ? a.score > b.score : a.text < b.text;
}

class Evaluator {
 public:
  /// Scores by the model. Without one: by the draft, or at random by (seed, round, program).
  Evaluator(const SearchCallbacks& callbacks, const CostModel* model, std::uint64_t seed,
            std::uint32_t round)
      : callbacks_(callbacks), model_(model), seed_(seed), round_(round) {}

  /// The valid ones of the candidates, in their order; duplicates stay.
  std::vector<Individual> evaluate(std::vector<Candidate> candidates) {
    std::vector<std::string> texts(candidates.size());
    run_for(callbacks_.parallel_for, candidates.size(),
            [&](std::size_t i) { texts[i] = state_text(candidates[i].state); });

    std::vector<std::size_t> fresh;
    std::vector<ProgramView> views;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!known_.contains(texts[i])) {
        known_.set(texts[i], {});
        fresh.push_back(i);
        views.emplace_back(candidates[i].state);
      }
    }
    const std::vector<double> drafts = draft(views);
    std::vector<Features> features(fresh.size());
    run_draws(callbacks_, fresh.size(), [&](std::size_t k) {
      if (drafts[k] <= prune_factor * best_draft_) {
        features[k] = callbacks_.extract(views[k]);
      }
      views[k].forget();
    });
    std::vector<float> scores(fresh.size(), invalid_score);
    predict(features, drafts, scores);
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      if (scores[k] > lowest_valid_score) {
        known_.set(texts[fresh[k]],
                   {scores[k], make_shared_of<const Features>(std::move(features[k]))});
      }
    }

    std::vector<Individual> valid;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Known& known = *known_.find(texts[i]);
      if (known.score > lowest_valid_score) {
        valid.push_back(
            Individual{std::move(candidates[i]), std::move(texts[i]), known.score, known.features});
      }
    }
    return valid;
  }

  /// The valid ones of individuals that another evaluator has scored, by this one's model; those
  /// whose features hold all that the model reads are not looked at again.
  std::vector<Individual> rescore(std::vector<Individual> individuals) {
    std::vector<Individual> known, valid;
    std::vector<Candidate> others;
    std::vector<Features> features;
    for (Individual& individual : individuals) {
      if (!holds_all(individual.features.get())) {
        others.push_back(std::move(individual.candidate));
        continue;
      }
      features.push_back(*individual.features);
      known.push_back(std::move(individual));
    }
    std::vector<float> scores(features.size(), invalid_score);
    predict(features, {}, scores);
    for (std::size_t i = 0; i < known.size(); ++i) {
      known[i].score = scores[i];
      known_.set(known[i].text, {scores[i], known[i].features});
      if (scores[i] > lowest_valid_score) {
        valid.push_back(std::move(known[i]));
      }
    }
    for (Individual& individual : evaluate(std::move(others))) {
      valid.push_back(std::move(individual));
    }
    return valid;
  }

 private:
  bool holds_all(const Features* features) const {
    return model_ != nullptr && features != nullptr &&
           all_items(model_->wanted_blocks(),
                     [&](std::string_view name) { return features->find(name) != nullptr; });
  }

  static constexpr float lowest_valid_score = -1e10F;  // Ansor reference, ch. 5.2

  struct Known {
    float score = invalid_score;
    Shared<const Features> features = {};
  };

  /// Estimates of the valid ones (0 without a draft), no limit for the others.
  std::vector<double> draft(const std::vector<ProgramView>& views) {
    constexpr double none = math::infinity;
    std::vector<double> drafts(views.size(), none);
    run_draws(callbacks_, views.size(), [&](std::size_t k) {
      const ProgramView& view = views[k];
      if (!has_nested_parallel(view.state()) &&
          (!callbacks_.is_valid || callbacks_.is_valid(view))) {
        drafts[k] = callbacks_.draft ? callbacks_.draft(view) : 0;
      }
    });
    for (double time : drafts) {
      best_draft_ = smaller_of(best_draft_, time);
    }
    return drafts;
  }

  void predict(const std::vector<Features>& features, const std::vector<double>& drafts,
               std::vector<float>& scores) const {
    if (model_ == nullptr) {
      for (std::size_t k = 0; k < features.size(); ++k) {
        if (features[k].empty()) {
          continue;
        }
        const float random = random_score(seed_, round_, features[k]);
        // Within a factor of two the draft knows nothing: chance decides.
        scores[k] =
            callbacks_.draft ? random - static_cast<float>(math::log2(drafts[k] + 1e-9)) : random;
      }
      return;
    }
    constexpr std::size_t chunk = 64;
    const std::span<const Features> programs(features);
    const std::span<float> results(scores);
    run_for(callbacks_.parallel_for, (features.size() + chunk - 1) / chunk, [&](std::size_t c) {
      const std::size_t count = smaller_of(chunk, features.size() - c * chunk);
      model_->predict(programs.subspan(c * chunk, count), results.subspan(c * chunk, count));
    });
  }

  /// Programs with a draft this many times the best one's are pruned.
  static constexpr double prune_factor = 3.0;

  const SearchCallbacks& callbacks_;
  const CostModel* model_;
  std::uint64_t seed_;
  std::uint32_t round_;
  double best_draft_ = math::infinity;
  HashMap<std::string, Known> known_;
};

}  // namespace tensorsmith
