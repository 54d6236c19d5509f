// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
#include "bands.hpp"

#include <algorithm>
#include <cstdio>

#include "support/golden_data.hpp"

namespace tensorsmith::bench {
namespace {

constexpr const char* metrics[] = {"pairwise", "spearman", "peak@1", "peak@5"};
constexpr const char* modes[] = {"eval", "batch"};

double value_of(const LearnedQuality& quality, const std::string& metric) {
  return metric == "pairwise"   ? quality.pair_accuracy
         : metric == "spearman" ? quality.spearman
         : metric == "peak@1"   ? quality.best_of_1
                                : quality.mean_of_5;
}

}  // namespace

std::map<std::string, LogBands> read_bands(const std::string& path, const std::string& index) {
  const test::Json trainings = test::Json::parse(test::read_text(path));
  const test::Json logs = test::Json::parse(test::read_text(index));
  std::map<std::string, LogBands> all;
  for (const auto& [name, training] : trainings.items()) {
    LogBands& log = all[name];
    const auto records = training.at("train_records").get<std::vector<std::size_t>>();
    log.train_records = {records.begin(), records.end()};
    const test::Json lowered =
        logs.contains(name) ? logs.at(name).at("psa_a100_40_latency_ms") : test::Json::array();
    for (std::size_t i = 0; i < lowered.size(); ++i) {
      if (lowered[i].is_null()) {
        log.left_out.insert(i);
      }
    }
    for (const char* model : {"pam", "mlp"}) {
      for (const char* metric : metrics) {
        auto& bands = log.bands[model][metric];
        for (std::size_t m = 0; m < 2; ++m) {
          for (const auto& seed : training.at(model)) {
            // TenSet's network has no norm, so there is one way only.
            const auto& values = seed.contains(modes[m]) ? seed.at(modes[m]) : seed.at("eval");
            const double value = values.at(metric).get<double>();
            bands[m].least = std::min(bands[m].least, value);
            bands[m].most = std::max(bands[m].most, value);
          }
        }
      }
    }
  }
  return all;
}

bool compare_with_bands(const LogBands& log, const std::string& learner,
                        const std::vector<TrainingSample>& samples,
                        const std::vector<std::size_t>& records, bool as_reference,
                        std::uint32_t num_seeds) {
  const auto found = log.bands.find(learner == "tenset-mlp" ? "mlp" : learner);
  if (found == log.bands.end()) {
    return true;  // the reference has no such model
  }
  std::vector<TrainingSample> train, tested;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (log.left_out.count(records[i]) == 0) {
      (log.train_records.count(records[i]) > 0 ? train : tested).push_back(samples[i]);
    }
  }
  std::vector<LearnedQuality> qualities;
  for (std::uint32_t seed = 1; seed <= num_seeds; ++seed) {
    const Shared<CostModel> model = make_learner(learner, as_reference, seed, false);
    model->update(train);
    qualities.push_back(quality_of(*model, tested));
  }
  std::printf("    %-10s the reference's half, %zu of %zu trained, %zu tested, %u seeds:\n",
              learner.c_str(), train.size(), log.train_records.size(), tested.size(), num_seeds);
  bool is_below = false;
  for (const auto& [metric, bands] : found->second) {
    Band ours;
    double mean = 0;
    for (const LearnedQuality& quality : qualities) {
      const double value = value_of(quality, metric);
      ours.least = std::min(ours.least, value);
      ours.most = std::max(ours.most, value);
      mean += value / num_seeds;
    }
    const bool below = ours.most < std::min(bands[0].least, bands[1].least);
    is_below = is_below || below;
    std::printf(
        "      %-9s %.4f (%.4f .. %.4f), the reference %.4f .. %.4f, over its batch %.4f .. "
        "%.4f: %s\n",
        metric.c_str(), mean, ours.least, ours.most, bands[0].least, bands[0].most, bands[1].least,
        bands[1].most, below ? "BELOW" : "not below");
  }
  return !is_below;
}

}  // namespace tensorsmith::bench
