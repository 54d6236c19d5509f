// SPDX-License-Identifier: Apache-2.0
// requires: mlp
#include "tensorsmith/cost/felix_model.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "lib/cost/felix_losses.hpp"
#include "support/catch.hpp"
#include "tensorsmith/cost/model_metrics.hpp"
#include "tensorsmith/feature/felix_columns.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

using tensorsmith::test::Approx;

/// A program of a few rows with nine random columns, two of which decide how fast it is.
TrainingSample felix_program(CounterRng& rng, std::uint32_t task) {
  FeatureBlock rows{felix_schema(), 0, {}};
  double log = 8;
  for (std::uint32_t r = 0; r < 1 + rng.next_below(3); ++r) {
    const std::span<float> row = rows.add_row();
    for (std::size_t c = 0; c < row.size(); ++c) {
      row[c] = c % 19 == 3 ? static_cast<float>(rng.next_double()) : 0.5F;
    }
    log -= 0.5 * rows.row(r)[3] + 0.5 * rows.row(r)[60];
  }
  return {Features(std::vector<FeatureBlock>{std::move(rows)}), task, std::exp(log)};
}
std::vector<TrainingSample> felix_programs(std::uint64_t seed, std::size_t count) {
  CounterRng rng(seed, 1, 2, 3);
  std::vector<TrainingSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    samples.push_back(felix_program(rng, static_cast<std::uint32_t>(i % 2)));
  }
  return samples;
}
std::vector<float> felix_scores(const CostModel& model, const std::vector<TrainingSample>& of) {
  std::vector<Features> programs;
  for (const TrainingSample& sample : of) {
    programs.push_back(sample.features);
  }
  std::vector<float> scores(programs.size());
  model.predict(programs, scores);
  return scores;
}
FelixModelOptions quick_felix() {
  FelixModelOptions options;
  options.max_visits = 3000;
  return options;
}

}  // namespace

TEST_CASE("how long Felix's network is trained", "[cost][felix]") {
  const FelixModelOptions options = FelixModelOptions::reference();  // conformance test C14
  CHECK(options.num_epochs(255) == 0);
  CHECK(options.num_epochs(256) == 117);
  CHECK(FelixModelOptions::patience(117) == 23);
  CHECK(options.num_epochs(3000) == 10);
  CHECK(FelixModelOptions::patience(10) == 2);
  CHECK(FelixModel().num_parameters() == 237313);
  std::vector<float> slope(1);
  // A latency of 1 ms: the target is 6.907755.
  const double loss = felix_loss(FelixLoss::log_square, 1e5, std::vector<float>{0.0F},
                                 std::vector<double>{1000}, slope);
  CHECK(std::sqrt(loss) == Approx(6.907755).epsilon(1e-6));
}

TEST_CASE("order and peaks of scores", "[cost][felix]") {
  const std::vector<float> scores{3, 1, 2}, labels{0.5F, 1.0F, 0.8F};  // conformance test C18
  CHECK(rank_report(scores, labels, std::vector<std::uint32_t>(3, 0)).pairwise_accuracy() == 0);
  CHECK(peak_score(scores, labels, 1) == Approx(0.5));
  CHECK(peak_score(scores, labels, 2) == Approx(0.65));
  CHECK(peak_score(scores, labels, 9) == Approx((0.5 + 0.8 + 1.0) / 3));
  CHECK(peak_score(scores, std::vector<float>(3, 0.0F), 2) == 0);
  CHECK(peak_score({}, {}, 5) == 0);
}

TEST_CASE("losses of Felix have the slopes that they say", "[cost][felix]") {
  CounterRng rng(11, 0, 0, 0);
  std::vector<float> scores;
  std::vector<double> labels;
  for (int i = 0; i < 7; ++i) {
    scores.push_back(static_cast<float>(4 * rng.next_double() - 2));
    labels.push_back(1 + 9 * rng.next_double());
  }
  for (const FelixLoss kind : {FelixLoss::log_square, FelixLoss::square, FelixLoss::rank}) {
    std::vector<float> slope(scores.size()), unused(scores.size());
    (void)felix_loss(kind, 3, scores, labels, slope);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      std::vector<float> moved = scores;
      moved[i] += 0.01F;
      const double above = felix_loss(kind, 3, moved, labels, unused);
      moved[i] = scores[i] - 0.01F;
      const double below = felix_loss(kind, 3, moved, labels, unused);
      CHECK(slope[i] == Approx((above - below) / 0.02).epsilon(2e-3).margin(2e-4));
    }
  }
  // Scores beyond 10 are clipped and have no slope under the rank loss.
  std::vector<float> slope(2);
  (void)felix_loss(FelixLoss::rank, 1, std::vector<float>{11, 0}, std::vector<double>{1, 2}, slope);
  CHECK(slope[0] == 0);
  CHECK(slope[1] != 0);
}

TEST_CASE("Felix's network learns an order, and says by how much", "[cost][felix]") {
  const auto samples = felix_programs(1, 160), others = felix_programs(2, 60);
  FelixModel model(quick_felix());
  CHECK(felix_scores(model, others) == std::vector<float>(others.size(), 0.0F));
  model.update(samples);
  REQUIRE(model.is_trained());
  CHECK(rank_report(model, others).pairwise_accuracy() > 0.8);
  double error = 0;
  const std::vector<float> scores = felix_scores(model, others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    error += std::abs(scores[i] - std::log(others[i].throughput)) / others.size();
  }
  CHECK(error < 0.5);
  // A program is scored alike wherever it stands.
  for (const std::size_t i : {std::size_t{0}, std::size_t{17}}) {
    CHECK(felix_scores(model, {others[i]})[0] == scores[i]);
  }
  FelixModel again(quick_felix());
  again.update(samples);
  CHECK(felix_scores(again, others) == scores);
}

TEST_CASE("Felix's network leaves out what cannot be learned from", "[cost][felix]") {
  auto samples = felix_programs(4, 30);
  for (TrainingSample& sample : samples) {
    sample.throughput = 0;
  }
  FelixModel model(quick_felix());
  model.update(samples);
  CHECK(!model.is_trained());
  samples = felix_programs(4, 30);
  for (TrainingSample& sample : samples) {
    sample.features.blocks()[0].row(0)[5] = 101;
  }
  model.update(samples);
  CHECK(!model.is_trained());
  CHECK(felix_scores(model, {samples[0]})[0] == invalid_score);
  CHECK(felix_scores(model, {TrainingSample{}})[0] == invalid_score);
}

TEST_CASE("slopes of Felix's network by central differences", "[cost][felix]") {
  FelixModel model(quick_felix());
  const auto samples = felix_programs(5, 80);
  Features slopes;
  CHECK(!model.gradient(samples[0].features, slopes));
  model.update(samples);
  CounterRng rng(6, 0, 0, 0);
  for (std::size_t p = 0; p < 5; ++p) {
    REQUIRE(model.gradient(samples[p].features, slopes));
    const FeatureBlock& block = slopes.block(felix_block_name);
    for (int draw = 0; draw < 8; ++draw) {
      const std::size_t at = rng.next_below(static_cast<std::uint32_t>(block.values.size()));
      constexpr float step = 4e-3F;
      std::vector<TrainingSample> moved{samples[p], samples[p]};
      moved[0].features.blocks()[0].values[at] += step;
      moved[1].features.blocks()[0].values[at] -= step;
      const auto scores = felix_scores(model, moved);
      CHECK(block.values[at] ==
            Approx((scores[0] - scores[1]) / (2 * step)).epsilon(0.05).margin(2e-2));
    }
  }
}

TEST_CASE("slopes of several programs at once are those of each", "[cost][felix]") {
  FelixModel model(quick_felix());
  const auto samples = felix_programs(5, 80);
  model.update(samples);
  std::vector<Features> programs, slopes(12);
  for (std::size_t p = 0; p < slopes.size(); ++p) {
    programs.push_back(samples[p].features);
  }
  REQUIRE(model.gradients(programs, slopes));
  for (std::size_t p = 0; p < slopes.size(); ++p) {
    Features alone;
    REQUIRE(model.gradient(programs[p], alone));
    const FeatureBlock &one = alone.block(felix_block_name),
                       &other = slopes[p].block(felix_block_name);
    REQUIRE(one.values.size() == other.values.size());
    for (std::size_t k = 0; k < one.values.size(); ++k) {
      CHECK(one.values[k] == Approx(other.values[k]).epsilon(1e-4).margin(1e-5));
    }
  }
  programs[7] = Features();
  CHECK(!model.gradients(programs, slopes));
}

TEST_CASE("Felix's network is saved and loaded", "[cost][felix]") {
  FelixModelOptions options = quick_felix();
  options.loss = FelixLoss::rank;
  FelixModel model(options), loaded;
  const auto samples = felix_programs(7, 60);
  model.update(samples);
  const auto bytes = model.save();
  REQUIRE(bytes.has_value());
  REQUIRE(loaded.load(*bytes).has_value());
  CHECK(loaded.is_trained());
  CHECK(loaded.options().loss == FelixLoss::rank);
  CHECK(felix_scores(loaded, samples) == felix_scores(model, samples));
  CHECK(rank_report(loaded, samples).pairwise_accuracy() > 0.7);
  CHECK(!loaded.load(bytes->substr(0, bytes->size() - 5)).has_value());
  std::string broken = *bytes;
  for (std::size_t i = broken.size() - 4; i < broken.size(); ++i) {
    broken[i] = '\xff';
  }
  CHECK(!loaded.load(broken).has_value());
  CHECK(felix_scores(loaded, samples) == felix_scores(model, samples));
}

}  // namespace tensorsmith
