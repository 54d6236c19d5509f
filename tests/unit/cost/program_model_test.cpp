// SPDX-License-Identifier: Apache-2.0
// requires: mlp
#include "tensorsmith/cost/program_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "lib/cost/early_stop.hpp"
#include "lib/cost/program_losses.hpp"
#include "lib/cost/program_network.hpp"
#include "support/catch.hpp"
#include "tensorsmith/feature/pam_rows.hpp"
#include "tensorsmith/feature/workload_embedding.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

using program_network::Matrix;
using program_network::NetworkShape;
using program_network::ProgramBatch;
using program_network::ProgramNetwork;
using program_network::Vector;

/// A program of a few random rows; the sum of one column decides how fast it is.
TrainingSample drawn_program(CounterRng& rng, std::uint32_t task, bool follows_pattern = true) {
  FeatureBlock rows{statements_schema(), 0, {}};
  double speed = 0;
  for (std::uint32_t r = 0; r < 1 + rng.next_below(4); ++r) {
    for (float& value : rows.add_row()) {
      value = static_cast<float>(rng.next_double());
    }
    speed += rows.row(r)[3];
  }
  FeatureBlock workload{embedding_schema(), 1, std::vector<float>(10, 0.0F)};
  FeatureBlock flow{dataflow_schema(), 8, std::vector<float>(8 * dataflow_columns, 0.0F)};
  for (float& value : flow.values) {
    value = follows_pattern ? static_cast<float>(rng.next_double()) : 0.0F;
  }
  std::vector<FeatureBlock> blocks{std::move(rows), std::move(workload), std::move(flow)};
  return {Features(std::move(blocks)), task, 1 + speed};
}

std::vector<TrainingSample> drawn_programs(std::uint64_t seed, std::size_t count,
                                           std::uint32_t num_tasks = 1) {
  CounterRng rng(seed, 0, 0, 0);
  std::vector<TrainingSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    samples.push_back(drawn_program(rng, static_cast<std::uint32_t>(i) % num_tasks, i % 3 != 0));
  }
  return samples;
}

std::vector<float> scores_of(const CostModel& model, const std::vector<TrainingSample>& samples) {
  std::vector<Features> programs;
  for (const TrainingSample& sample : samples) {
    programs.push_back(sample.features);
  }
  std::vector<float> scores(programs.size());
  model.predict(programs, scores);
  return scores;
}

ProgramModelOptions quick(ProgramModelOptions options) {
  options.max_visits = 800;
  options.learning_rate = 3e-3F;
  return options;
}

ProgramBatch drawn_batch(const NetworkShape& shape, std::uint64_t seed) {
  CounterRng rng(seed, 7, 0, 0);
  ProgramBatch batch;
  batch.first_row = {0, 2, 3, 6, 7, 9};
  const auto fill = [&](Matrix& matrix, Eigen::Index rows, Eigen::Index columns) {
    matrix.resize(rows, columns);
    for (Eigen::Index i = 0; i < matrix.size(); ++i) {
      matrix.data()[i] = static_cast<float>(rng.next_double());
    }
  };
  fill(batch.inputs, shape.num_inputs, 9);
  fill(batch.flow, shape.flow_inputs, 5 * program_network::flow_rows);
  return batch;
}

/// A smooth function of the scores with slope `weights` at them.
double weighted(const Vector& scores, const Vector& weights) {
  double sum = 0;
  for (Eigen::Index i = 0; i < scores.size(); ++i) {
    sum += static_cast<double>(scores[i]) * weights[i];
  }
  return sum;
}

}  // namespace

TEST_CASE("networks have the reference's numbers of parameters", "[cost]") {
  CHECK(ProgramModel(ProgramModelOptions::pam()).num_parameters() == 417409);
  CHECK(ProgramModel(ProgramModelOptions::moa()).num_parameters() == 417409);
  CHECK(ProgramModel(ProgramModelOptions::tenset_mlp()).num_parameters() == 242433);
}

TEST_CASE("the gradient of a network is what differences say", "[cost]") {
  for (const NetworkShape& shape : {NetworkShape{5, 6, 3, 4, 2}, NetworkShape{5, 6, 0, 4, 2}}) {
    ProgramNetwork network(shape);
    network.initialize(test::seed());
    const ProgramBatch batch = drawn_batch(shape, test::seed());
    const Vector weights{{0.7F, -1.1F, 0.4F, 0.9F, -0.5F}};
    Vector scores;
    network.forward(batch, scores);
    network.backward(batch, weights);
    const std::vector<float> gradient(network.gradient().begin(), network.gradient().end());
    // Rectifiers have corners: a few numbers may stand at one.
    std::size_t num_far = 0;
    for (std::size_t p = 0; p < gradient.size(); ++p) {
      constexpr float step = 2e-3F;
      double values[2];
      const float before = network.parameters()[p];
      for (const int side : {0, 1}) {
        network.parameters()[p] = before + (side == 0 ? -step : step);
        network.evaluate(batch, nullptr, scores);
        values[side] = weighted(scores, weights);
      }
      network.parameters()[p] = before;
      const double slope = (values[1] - values[0]) / (2 * static_cast<double>(step));
      num_far += std::abs(slope - gradient[p]) > 0.02 * std::max(1.0, std::abs(slope)) ? 1 : 0;
    }
    CHECK(num_far * 50 <= gradient.size());
  }
}

TEST_CASE("gradients of smooth losses are what differences say", "[cost]") {
  CounterRng rng(test::seed(), 3, 0, 0);
  std::vector<float> scores, labels;
  for (int i = 0; i < 9; ++i) {
    scores.push_back(static_cast<float>(4 * rng.next_double() - 2));
    labels.push_back(static_cast<float>(rng.next_double()));
  }
  for (const ProgramLoss kind :
       {ProgramLoss::rank_net, ProgramLoss::list_net, ProgramLoss::mean_square}) {
    std::vector<float> gradient(scores.size()), unused(scores.size());
    (void)program_loss(kind, scores, labels, gradient);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      std::vector<float> low = scores, high = scores;
      low[i] -= 1e-2F;
      high[i] += 1e-2F;
      const double slope =
          (program_loss(kind, high, labels, unused) - program_loss(kind, low, labels, unused)) /
          (static_cast<double>(high[i]) - low[i]);
      CHECK(gradient[i] == test::Approx(slope).epsilon(2e-2).margin(1e-3));
    }
  }
}

TEST_CASE("the order of the eight accesses does not matter", "[cost]") {
  ProgramNetwork network(NetworkShape{5, 6, 3, 4, 2});
  network.initialize(1);
  ProgramBatch batch = drawn_batch(network.shape(), 1);
  Vector before, after;
  network.evaluate(batch, &network.statistics(), before);
  for (Eigen::Index p = 0; p < batch.num_programs(); ++p) {
    const Eigen::Index first = p * program_network::flow_rows;
    batch.flow.col(first).swap(batch.flow.col(first + 5));
    batch.flow.col(first + 1).swap(batch.flow.col(first + 7));
  }
  network.evaluate(batch, &network.statistics(), after);
  CHECK((before - after).cwiseAbs().maxCoeff() < 1e-5F);
}

TEST_CASE("models of programs learn which one is faster", "[cost][long]") {
  for (const ProgramModelOptions& options :
       {ProgramModelOptions::tenset_mlp(), ProgramModelOptions::pam(),
        ProgramModelOptions::moa()}) {
    ProgramModelOptions chosen = quick(options);
    chosen.update_interval = 1;
    chosen.max_visits = 2400;
    ProgramModel model(chosen);
    const std::vector<TrainingSample> others = drawn_programs(2, 60);
    for (const float score : scores_of(model, others)) {
      CHECK(score == 0.0F);  // untrained: the order of the draft stays
    }
    model.update(drawn_programs(1, 80, 2));
    REQUIRE(model.is_trained());
    INFO(model.name() << ": " << rank_report(model, others).pairwise_accuracy());
    CHECK(rank_report(model, others).pairwise_accuracy() > 0.7);
    CHECK(model.last_training().num_samples == 80);
    CHECK(model.last_training().last_loss < model.last_training().first_loss);
  }
}

TEST_CASE("a score does not depend on its neighbours, and programs without features never win",
          "[cost]") {
  ProgramModel model(quick(ProgramModelOptions::pam()));
  model.update(drawn_programs(1, 20));
  std::vector<TrainingSample> samples = drawn_programs(3, 90);
  samples[5].features = Features();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  samples[6].features.blocks()[0].values[0] = nan;
  const std::vector<float> together = scores_of(model, samples);
  for (std::size_t i = 0; i < samples.size(); i += 7) {
    CHECK(scores_of(model, {samples[i]})[0] == together[i]);
  }
  CHECK(together[5] == invalid_score);
  CHECK(together[6] == invalid_score);
}

TEST_CASE("saved models of programs score as before; other bytes change nothing", "[cost]") {
  for (const bool has_flow : {true, false}) {
    ProgramModel model(
        quick(has_flow ? ProgramModelOptions::pam() : ProgramModelOptions::tenset_mlp()));
    model.update(drawn_programs(1, 20));
    const std::vector<TrainingSample> samples = drawn_programs(3, 20);
    const std::vector<float> scores = scores_of(model, samples);
    const std::string bytes = model.save().value();
    ProgramModel other(has_flow ? ProgramModelOptions::moa() : ProgramModelOptions::tenset_mlp());
    REQUIRE(other.load(bytes));
    CHECK(scores_of(other, samples) == scores);
    CHECK(other.load("no model").error() == CostModelError::not_a_model);
    CHECK(other.load(bytes.substr(0, bytes.size() - 4)).error() == CostModelError::truncated);
    CHECK(scores_of(other, samples) == scores);
    ProgramModel wrong(has_flow ? ProgramModelOptions::tenset_mlp() : ProgramModelOptions::pam());
    CHECK(wrong.load(bytes).error() == CostModelError::wrong_model);
  }
}

TEST_CASE("the same samples give the same weights", "[cost]") {
  std::string bytes[2];
  for (std::string& saved : bytes) {
    ProgramModel model(quick(ProgramModelOptions::pam()));
    model.update(drawn_programs(1, 20));
    model.update(drawn_programs(4, 10));
    saved = model.save().value();
  }
  CHECK(bytes[0] == bytes[1]);
}

TEST_CASE("momentum adaptation trains at every fourth update", "[cost]") {
  ProgramModelOptions options = quick(ProgramModelOptions::pam());
  ProgramModel source(options);
  source.update(drawn_programs(9, 20));
  options = quick(ProgramModelOptions::moa());
  options.falls_back = false;
  ProgramModel model(options);
  REQUIRE(model.load(source.save().value()));
  const std::vector<TrainingSample> probe = drawn_programs(3, 8);
  std::vector<float> before = scores_of(model, probe);
  const std::uint32_t first = 2;  // of the source's update
  for (std::uint32_t call = first; call < first + 8; ++call) {
    model.update(drawn_programs(100 + call, 6));
    const std::vector<float> after = scores_of(model, probe);
    CHECK((after != before) == (call % 4 == 0));
    if (call % 4 == 0) {
      CHECK(model.last_training().num_samples == 6 * (call - first + 1));
    }
    before = after;
  }
}

TEST_CASE("a harmful training is not used", "[cost][long]") {
  ProgramModelOptions options = quick(ProgramModelOptions::pam());
  options.max_visits = 2400;
  ProgramModel source(options);
  source.update(drawn_programs(1, 80));
  options = quick(ProgramModelOptions::moa());
  options.update_interval = 1;
  ProgramModel model(options);
  REQUIRE(model.load(source.save().value()));
  std::vector<TrainingSample> wrong = drawn_programs(5, 60);
  for (TrainingSample& sample : wrong) {
    sample.throughput = 10 - sample.throughput;  // measured in reverse: what is learned is wrong
  }
  model.update(wrong);
  model.update(drawn_programs(6, 60));
  model.update(drawn_programs(7, 60));
  CHECK(model.uses_source());
  const std::vector<TrainingSample> probe = drawn_programs(8, 20);
  CHECK(scores_of(model, probe) == scores_of(source, probe));
}

TEST_CASE("a training ends some epochs after the least mean loss", "[cost]") {
  // The mean has its least after epoch 3 and none after it: with a patience of 16, epoch 19 is the
  // last.
  EarlyStop stop(16);
  std::uint32_t last = 0;
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) {
    stop.add_batch(epoch <= 3 ? 10.0 - epoch : 20.0);
    last = epoch;
    if (!stop.goes_on_after_epoch()) {
      break;
    }
  }
  CHECK(last == 19);
  EarlyStop falling(1);
  for (int epoch = 0; epoch < 50; ++epoch) {
    falling.add_batch(50 - epoch);
    CHECK(falling.goes_on_after_epoch());
  }
  EarlyStop averages(5);
  averages.add_batch(4);
  averages.add_batch(2);
  CHECK(averages.mean() == test::Approx(0.95 * 4 + 0.05 * 2));
}

TEST_CASE("released weights are checked tensor by tensor", "[cost]") {
  ProgramModel model(ProgramModelOptions::tenset_mlp());
  CHECK(model.import({}).error() == CostModelError::bad_payload);
  CHECK(!model.is_trained());
  ProgramNetwork network(NetworkShape::mlp());
  network.initialize(4);
  std::vector<NamedTensor> tensors{{"feature_norm_statement", std::vector<float>(174, 1.0F)}};
  for (const auto& tensor : network.tensors()) {
    const auto values = network.parameters().subspan(tensor.offset, tensor.size());
    tensors.push_back({tensor.name, {values.begin(), values.end()}});
  }
  REQUIRE(model.import(tensors));
  CHECK(model.is_trained());
  const std::vector<TrainingSample> probe = drawn_programs(8, 20);
  const std::vector<float> scores = scores_of(model, probe);
  tensors[3].values.pop_back();
  CHECK(model.import(tensors).error() == CostModelError::bad_payload);
  CHECK(scores_of(model, probe) == scores);
}

}  // namespace tensorsmith
