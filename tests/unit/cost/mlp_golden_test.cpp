// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
// The MLP on a real tuning log: 256 programs of a 512^3 matmul that the reference measured in four
// rounds of 64, with the reference's features (tests/data/golden/ansor).
#include "tensorsmith/cost/mlp.hpp"

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include "cost_fixtures.hpp"
#include "support/golden_data.hpp"

using namespace tensorsmith;

namespace {

nlohmann::json read(const std::string& name) {
  return nlohmann::json::parse(test::read_text(test::own_golden_path(name)));
}

const nlohmann::json& reference() {
  static const nlohmann::json file = read("costmodel_matmul_512.json");
  return file;
}

const std::vector<TrainingSample>& records() {
  static const std::vector<TrainingSample> all = [] {
    std::vector<TrainingSample> result;
    const nlohmann::json features = read("costmodel_matmul_512_features.json");
    for (std::size_t i = 0; i < features.size(); ++i) {
      TrainingSample sample;
      FeatureMatrix rows;
      for (const nlohmann::json& values : features[i]) {
        REQUIRE(values.size() == feature_length);
        const auto row = rows.add_row();
        for (std::size_t k = 0; k < feature_length; ++k) {
          row[k] = values[k].get<float>();
        }
      }
      sample.features = rows;
      sample.throughput = 1.0 / reference()["costs"][i].get<double>();
      result.push_back(sample);
    }
    return result;
  }();
  return all;
}

std::span<const TrainingSample> part(std::size_t begin, std::size_t count) {
  return std::span(records()).subspan(begin, count);
}

/// Mean over five seeds of what `run` returns for a seed.
template <class Run>
double mean_over_seeds(Run run) {
  double sum = 0.0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    sum += run(seed);
  }
  return sum / 5.0;
}

}  // namespace

TEST_CASE("golden: labels and accuracy are computed as the reference does", "[cost][long]") {
  REQUIRE(records().size() == 256);
  const std::vector<float> labels = normalized_labels(part(0, 192));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    CHECK(labels[i] == test::Approx(reference()["labels"][i].get<double>()).epsilon(1e-5));
  }
  const std::vector<float> scores = reference()["scores"].get<std::vector<float>>();
  const std::vector<std::uint32_t> tasks(64, 0);
  const RankReport report =
      rank_report(std::span(scores).subspan(192), normalized_labels(part(192, 64)), tasks);
  CHECK(report.num_pairs == 2016);
  // The reference counts a tie of two scores as right or wrong by the order of the records; here it
  // is always wrong.
  const double expected = reference()["pairwise_accuracy_rest"].get<double>();
  CHECK(report.pairwise_accuracy() <= expected);
  CHECK(report.pairwise_accuracy() == test::Approx(expected).margin(0.003));
}

TEST_CASE("golden: held-out programs of the same distribution", "[cost][long]") {
  // measured: 0.802 on random splits, eight seeds; two kinds of tree ensembles reach 0.81.
  const double accuracy = mean_over_seeds([](std::uint64_t seed) {
    std::vector<TrainingSample> shuffled = records();
    CounterRng rng(seed, 100);
    rng.shuffle(shuffled);
    MlpOptions options;
    options.seed = seed;
    MlpModel model(options);
    model.update(std::span(shuffled).first(192));
    return rank_report(model, std::span(shuffled).subspan(192)).pairwise_accuracy();
  });
  CHECK(accuracy > 0.76);
}

TEST_CASE("golden: round by round, each round predicts the next", "[cost][long]") {
  // Rounds 2 to 4 were chosen by the reference's model, so they are narrow and not distributed as
  // what came before; its own accuracy on records 192 to 255 is 0.61.
  // measured, mean of eight seeds: 0.647, 0.602, 0.529; best of the eight chosen first 0.978.
  double sums[4] = {};
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    MlpOptions options;
    options.seed = seed;
    MlpModel model(options);
    for (std::size_t round = 0; round < 3; ++round) {
      model.update(part(64 * round, 64));
      sums[round] += rank_report(model, part(64 * (round + 1), 64)).pairwise_accuracy() / 5.0;
    }
    sums[3] += rank_report(model, part(192, 64), 8).best_of_top / 5.0;
  }
  CHECK(sums[0] > 0.60);
  CHECK(sums[1] > 0.55);
  CHECK(sums[2] > 0.50);
  CHECK(sums[3] > 0.93);
}

TEST_CASE("golden: the training part is fitted", "[cost][long]") {
  // measured: 0.871; the reference's trees 0.885.
  MlpModel model;
  model.update(part(0, 192));
  CHECK(rank_report(model, part(0, 192)).pairwise_accuracy() > 0.83);
}
