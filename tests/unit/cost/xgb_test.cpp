// SPDX-License-Identifier: Apache-2.0
// requires: xgb json
// Boosted trees with the reference's objective, on synthetic programs and on a real tuning log.
#include "tensorsmith/cost/xgb.hpp"

#include "support/catch.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include "cost_fixtures.hpp"
#include "support/golden_data.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

nlohmann::json read_golden(const std::string& name) {
  return nlohmann::json::parse(read_text(own_golden_path(name)));
}

/// The 256 programs of a 512^3 matmul of the golden data.
std::vector<TrainingSample> measured_programs(const nlohmann::json& reference) {
  std::vector<TrainingSample> result;
  const nlohmann::json features = read_golden("costmodel_matmul_512_features.json");
  for (std::size_t i = 0; i < features.size(); ++i) {
    TrainingSample sample;
    FeatureMatrix rows;
    for (const nlohmann::json& values : features[i]) {
      const auto row = rows.add_row();
      for (std::size_t k = 0; k < feature_length; ++k) {
        row[k] = values[k].get<float>();
      }
    }
    sample.features = rows;
    sample.throughput = 1.0 / reference["costs"][i].get<double>();
    result.push_back(std::move(sample));
  }
  return result;
}

}  // namespace

TEST_CASE("xgb: untrained, it draws; trained, it ranks", "[cost]") {
  XgbModel model;
  CHECK(model.name() == "xgb");
  const std::vector<TrainingSample> samples = synthetic_samples(1, 0, 128);
  const std::vector<TrainingSample> others = synthetic_samples(1, 1000, 64);
  const std::vector<float> drawn = scores_of(model, features_of(others));
  CHECK(drawn[0] != drawn[1]);
  CHECK(drawn == scores_of(model, features_of(others)));

  model.update(samples);
  REQUIRE(model.is_trained());
  CHECK(model.last_training().num_samples == 128);
  CHECK(model.last_training().num_trees > model.last_training().best_round);
  CHECK(model.last_training().best_rmse < 0.1);
  // The labels are small here, so are the weights, and gamma ends the growth early: 0.75.
  CHECK(rank_report(model, samples).pairwise_accuracy() > 0.7);
}

TEST_CASE("xgb: same samples, same scores; a score does not depend on its neighbours", "[cost]") {
  const std::vector<TrainingSample> samples = synthetic_samples(2, 0, 64);
  const std::vector<Features> programs = features_of(synthetic_samples(2, 500, 20));
  XgbModel a, b;
  a.update(samples);
  b.update(std::span(samples).first(32));
  b.update(std::span(samples).subspan(32));
  const std::vector<float> scores = scores_of(a, programs);
  CHECK(scores == scores_of(b, programs));
  for (std::size_t i = 0; i < programs.size(); ++i) {
    CHECK(scores_of(a, {programs[i]})[0] == scores[i]);
  }
}

TEST_CASE("xgb: programs without features never win, failures rank low", "[cost]") {
  std::vector<TrainingSample> samples = synthetic_samples(3, 0, 64);
  for (std::size_t i = 0; i < 8; ++i) {
    samples[i].throughput = 0.0;
  }
  samples.push_back({});
  XgbModel model;
  model.update(samples);
  CHECK(model.last_training().num_samples == 64);
  CHECK(scores_of(model, {Features{}})[0] == invalid_score);
}

TEST_CASE("xgb: a saved model gives the same scores; a damaged one is refused", "[cost]") {
  XgbModel model;
  model.update(synthetic_samples(4, 0, 64));
  const std::vector<Features> programs = features_of(synthetic_samples(4, 300, 10));
  const auto bytes = model.save();
  REQUIRE(bytes.has_value());
  XgbModel loaded(XgbOptions{.seed = 7});
  REQUIRE(loaded.load(*bytes).has_value());
  CHECK(scores_of(loaded, programs) == scores_of(model, programs));

  std::string damaged = *bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  CHECK(loaded.load(damaged).error() == CostModelError::checksum);
  CHECK(loaded.load("TSMODEL\n").error() == CostModelError::not_a_model);
  CHECK(scores_of(loaded, programs) == scores_of(model, programs));

  ByteWriter payload;
  payload.u64(1);
  payload.u32(1);
  payload.u32(1);
  payload.raw("{\"no\": \"trees\"}");
  CHECK(loaded.load(frame_model("xgb", XgbModel::schema_version, payload.take(), {ansor_schema()}))
            .error() == CostModelError::bad_payload);
}

TEST_CASE("golden: boosted trees fit a real log as the reference's do", "[cost][long]") {
  const nlohmann::json reference = read_golden("costmodel_matmul_512.json");
  const std::vector<TrainingSample> programs = measured_programs(reference);
  REQUIRE(programs.size() == 256);
  XgbModel model;
  model.update(std::span(programs).first(192));
  const XgbTrainingReport& report = model.last_training();
  const double fit = rank_report(model, std::span(programs).first(192)).pairwise_accuracy();
  const double rest = rank_report(model, std::span(programs).subspan(192)).pairwise_accuracy();
  const double of_reference[] = {reference["pairwise_accuracy_train"].get<double>(),
                                 reference["pairwise_accuracy_rest"].get<double>()};
  INFO(report.num_trees << " trees, p-rmse " << report.best_rmse << ", accuracy " << fit << " and "
                        << rest << "; the reference's " << of_reference[0] << " and "
                        << of_reference[1]);
  CHECK(report.best_rmse <
        1.2 * std::stod(reference["early_stop_best"]["score"].get<std::string>()));
  // It ends where the reference's does, whose error has six decimals.
  CHECK(report.num_trees > 50);
  CHECK(report.num_trees < 2 * reference["num_trees"].get<std::uint32_t>());
  CHECK(fit > of_reference[0] - 0.03);
  CHECK(rest > of_reference[1] - 0.08);
}
