// SPDX-License-Identifier: Apache-2.0
// requires: mlp
#include "learned.hpp"

#include <algorithm>
#include <cmath>

#include "tensorsmith/cost/estimate_quality.hpp"
#include "tensorsmith/cost/mlp.hpp"
#include "tensorsmith/cost/program_model.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::bench {

LearnedQuality quality_of(const CostModel& model, const std::vector<TrainingSample>& tested) {
  std::vector<Features> programs;
  for (const TrainingSample& sample : tested) {
    programs.push_back(sample.features);
  }
  std::vector<float> scores(programs.size());
  model.predict(programs, scores);
  LearnedQuality quality;
  quality.num_tested = tested.size();
  quality.pair_accuracy = rank_report(model, tested).pairwise_accuracy();
  quality.best_of_1 = rank_report(model, tested, 1).best_of_top;
  quality.best_of_5 = rank_report(model, tested, 5).best_of_top;
  for (std::uint32_t k = 1; k <= 5; ++k) {
    quality.mean_of_5 += rank_report(model, tested, k).best_of_top / 5;
  }
  std::vector<double> estimates, measured;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    // A rank correlation: any falling positive function of the score will do.
    estimates.push_back(std::exp(-std::clamp<double>(scores[i], -300, 300)));
    measured.push_back(1 / tested[i].throughput);
  }
  quality.spearman = estimate_quality(estimates, measured).spearman;
  return quality;
}

LearnedQuality learned_quality(CostModel& model, const std::vector<TrainingSample>& samples,
                               std::uint64_t seed) {
  std::vector<std::uint32_t> order(samples.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  CounterRng rng(seed, 0, 0, 0);
  rng.shuffle(order);
  std::vector<TrainingSample> train, tested;
  for (std::size_t i = 0; i < order.size(); ++i) {
    (i < order.size() / 2 ? train : tested).push_back(samples[order[i]]);
  }
  model.update(train);
  return quality_of(model, tested);
}

Shared<CostModel> make_learner(const std::string& name, bool as_reference, std::uint64_t seed,
                               bool is_limited) {
  if (name == "mlp") {
    MlpOptions options;
    options.seed = seed;
    return make_shared_of<MlpModel>(options);
  }
  if (name != "pam" && name != "tenset-mlp") {
    throw Error("no learner of that name: " + name + "; known: pam, tenset-mlp, mlp");
  }
  ProgramModelOptions options =
      name == "pam" ? ProgramModelOptions::pam() : ProgramModelOptions::tenset_mlp();
  if (as_reference) {
    options = options.reference();
    options.settles_norm = true;
  }
  options.seed = seed;
  options.max_visits = is_limited ? options.max_visits : 0;
  return make_shared_of<ProgramModel>(options);
}

}  // namespace tensorsmith::bench
