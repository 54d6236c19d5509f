// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/random_model.hpp"

#include "support/catch.hpp"

#include <algorithm>

#include "cost_fixtures.hpp"

using namespace tensorsmith;

namespace {

std::vector<Features> some_programs() {
  return test::features_of(test::synthetic_samples(1, 0, 500));
}

}  // namespace

TEST_CASE("random model: a pure function of seed, round and program", "[cost]") {
  const std::vector<Features> all = some_programs();
  const RandomModel a(7), b(7), c(8);
  const std::vector<float> scores = test::scores_of(a, all);
  CHECK(scores == test::scores_of(b, all));
  CHECK(scores == test::scores_of(a, all));
  CHECK(scores != test::scores_of(c, all));
  std::vector<Features> reversed(all.rbegin(), all.rend());
  std::vector<float> back = test::scores_of(a, reversed);
  std::reverse(back.begin(), back.end());
  CHECK(scores == back);
}

TEST_CASE("random model: the first scores never change", "[cost]") {
  FeatureMatrix program;
  program.add_row()[0] = 1.0F;
  CHECK(random_score(0, 0, program) == test::Approx(0.541558683).epsilon(1e-7));
  CHECK(random_score(1, 2, program) == test::Approx(0.749841452).epsilon(1e-7));
}

TEST_CASE("random model: uniform, never ahead of its range", "[cost]") {
  const std::vector<float> scores = test::scores_of(RandomModel(3), some_programs());
  double sum = 0.0;
  for (float score : scores) {
    REQUIRE(score >= 0.0F);
    REQUIRE(score < 1.0F);
    sum += score;
  }
  CHECK(sum / 500.0 == test::Approx(0.5).margin(0.06));
}

TEST_CASE("random model: an update draws anew, empty features stay last", "[cost]") {
  RandomModel model(7);
  std::vector<Features> all = some_programs();
  all.push_back({});
  const std::vector<float> before = test::scores_of(model, all);
  model.update({});
  const std::vector<float> after = test::scores_of(model, all);
  CHECK(before != after);
  CHECK(before.back() == invalid_score);
  CHECK(after.back() == invalid_score);
}

TEST_CASE("random model: save and load", "[cost]") {
  RandomModel model(7);
  model.update({});
  const std::string bytes = model.save().value();
  RandomModel other(1);
  REQUIRE(other.load(bytes).has_value());
  CHECK(test::scores_of(model, some_programs()) == test::scores_of(other, some_programs()));
  const auto wrong = other.load(frame_model("random", RandomModel::schema_version + 1, "x"));
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error() == CostModelError::model_schema);
  CHECK(other.load(frame_model("random", RandomModel::schema_version, "x")).error() ==
        CostModelError::bad_payload);
}
