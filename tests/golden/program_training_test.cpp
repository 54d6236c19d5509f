// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
// Trainings of the networks of TenSet and Pruner: step by step along the reference's curves, and on
// programs that boards were measured with.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/formula_networks.hpp"
#include "tensorsmith/cost/model_metrics.hpp"
#include "tensorsmith/cost/program_model.hpp"

namespace tensorsmith::test {
namespace {

using program_network::Adam;
using program_network::ProgramBatch;
using program_network::ProgramNetwork;
using program_network::Vector;

constexpr float rate = 7e-4F;

/// Thirty steps on one batch. From step to step a swap of two scores that are almost alike moves
/// the loss, so curves are compared, not steps.
void compare_curve(const Json& file, const std::string& name, const std::string& optimiser,
                   ComparedRows& compared) {
  INFO(name << ", " << optimiser);
  const Json& expected = file.at(name).at(optimiser);
  ProgramNetwork network = formula_network(file, name);
  const ProgramBatch batch = formula_batch(file, network.shape().has_flow());
  const auto labels = file.at("labels").get<std::vector<float>>();
  Adam adam;
  const bool is_adam = optimiser == "adam";
  double mean = 0;
  std::vector<double> losses;
  for (std::size_t step = 0; step < expected.at("loss").size(); ++step) {
    INFO("step " << step);
    Vector scores;
    network.forward(batch, scores);
    const std::vector<float> values = values_of(scores);
    std::vector<float> slope(labels.size());
    const double wanted = expected.at("loss")[step];
    // Nearly equal scores stand in the same order as in the reference, as far as its loss says.
    const double loss =
        loss_in_order_of(wanted, ProgramLoss::lambda_rank, values, labels, slope, 1e-6F);
    network.backward(batch, Eigen::Map<Vector>(slope.data(), scores.size()));
    const float norm =
        program_network::clip_gradient(network.gradient(), is_adam ? 0.5F : INFINITY);
    mean = step == 0 ? loss : 0.95 * mean + 0.05 * loss;
    losses.push_back(loss);
    CHECK(mean == Approx(expected.at("ema")[step].get<double>()).epsilon(0.06));
    if (step == 0) {
      CHECK(loss == Approx(wanted).epsilon(1e-5));
      CHECK(norm == Approx(expected.at("grad_norm_before_clip")[0].get<double>()).epsilon(1e-3));
    }
    if (is_adam) {
      adam.step(network.parameters(), network.gradient(), rate, 1e-6F);
    } else {
      for (std::size_t i = 0; i < network.parameters().size(); ++i) {
        network.parameters()[i] -= rate * network.gradient()[i];
      }
    }
    const std::string taken = std::to_string(step + 1);
    if (expected.at("params_after_step").contains(taken)) {
      // Adam's first steps have the size of the rate, whatever the slope: where that is rounding
      // only, either way.
      const double most = !is_adam && step == 0 ? 1e-4 : !is_adam ? 0.05 : 0.2;
      CHECK(worst_summary(network, std::as_const(network).parameters(),
                          expected.at("params_after_step").at(taken)) <
            (step == 0 && is_adam ? 2e-3 : most));
    }
  }
  CHECK(losses.back() < 1.3 * losses.front());
  ++compared;
}

/// The other losses of TenSet's network, of the printed scores.
void compare_other_losses(const Json& file, ComparedRows& compared) {
  const Json& net = file.at("mlp");
  ProgramNetwork network = formula_network(file, "mlp");
  const ProgramBatch batch = formula_batch(file, false);
  const auto labels = file.at("labels").get<std::vector<float>>();
  const auto printed = net.at("forward_train").get<std::vector<float>>();
  Vector scores;
  network.forward(batch, scores);
  for (const auto& [name, expected] : net.at("other_losses").items()) {
    INFO(name);
    std::vector<float> slope(labels.size()), values = printed;
    const bool is_mean_square = name == "mse_sigmoid";
    if (is_mean_square) {
      for (float& value : values) {
        value = 1 / (1 + std::exp(-value));
      }
    }
    const ProgramLoss kind = is_mean_square      ? ProgramLoss::mean_square
                             : name == "rankNet" ? ProgramLoss::rank_net
                                                 : ProgramLoss::list_net;
    REQUIRE((is_mean_square || name == "rankNet" || name == "listNet"));
    CHECK(program_loss(kind, values, labels, slope) ==
          Approx(expected.at("loss").get<double>()).epsilon(1e-5));
    for (std::size_t i = 0; is_mean_square && i < slope.size(); ++i) {
      slope[i] *= values[i] * (1 - values[i]);
    }
    network.backward(batch, Eigen::Map<Vector>(slope.data(), scores.size()));
    CHECK(worst_summary(network, network.gradient(), expected.at("grad")) < 1e-4);
    ++compared;
  }
}

/// Sums and elements of a list of numbers.
void compare_numbers(const Vector& actual, const Json& summary) {
  double sum = 0, squares = 0;
  for (const float value : values_of(actual)) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  CHECK(sum == Approx(summary.at("sum").get<double>()).epsilon(1e-5));
  CHECK(squares == Approx(summary.at("sq_sum").get<double>()).epsilon(1e-5));
  const Numbers first = numbers_of(summary.at("first"));
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(actual[static_cast<Eigen::Index>(i)] == Approx(first[i]).epsilon(1e-5).margin(1e-6));
  }
}

/// Programs of a log that lower, each with its speed.
struct MeasuredLog {
  std::vector<TrainingSample> train, test;
};

MeasuredLog measured_log(const Json& log, const std::vector<std::string>& lines,
                         const std::set<std::size_t>& train_records) {
  MeasuredLog measured;
  const State initial =
      State::initial(dag_from_definition(log.at("definition"), log.at("arg_order")));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto record = ansor_record_from_line(lines[i]);
    REQUIRE(record);
    if (!record->is_measured() || log.at("psa_a100_40_latency_ms")[i].is_null()) {
      continue;
    }
    TrainingSample sample{network_features(replayed(initial, lines[i])), 0,
                          1 / record->mean_cost()};
    (train_records.contains(i) ? measured.train : measured.test).push_back(std::move(sample));
  }
  return measured;
}

/// What the least good of the reference's seeds reaches.
double least_of_seeds(const Json& seeds, const char* metric) {
  double least = 1;
  for (const Json& seed : seeds) {
    least = std::min(least, seed.at("eval").at(metric).get<double>());
  }
  return least;
}

}  // namespace

TEST_CASE("trainings follow the reference's curves", "[golden][cost][long]") {
  for (const GoldenFile& file : pruner_files("nn_formula_nets.json")) {
    ComparedRows curves(file.name);
    curves.of("curves");
    const Json nets = Json::parse(read_text(file.path));
    for (const char* name : {"pam", "mlp"}) {
      for (const char* optimiser : {"adam", "sgd"}) {
        compare_curve(nets, name, optimiser, curves);
      }
    }
  }
}

TEST_CASE("the other losses of TenSet's network, and the norm's statistics", "[golden][cost]") {
  for (const GoldenFile& file : pruner_files("nn_formula_nets.json")) {
    ComparedRows losses(file.name);
    losses.of("other losses");
    const Json nets = Json::parse(read_text(file.path));
    compare_other_losses(nets, losses);
    ProgramNetwork network = formula_network(nets, "pam");
    Vector scores;
    network.forward(formula_batch(nets, true), scores);
    const Json& after = nets.at("pam").at("bn_after_one_train_forward");
    compare_numbers(network.statistics().mean, after.at("running_mean"));
    compare_numbers(network.statistics().variance, after.at("running_var"));
  }
}

TEST_CASE("networks learn measured programs as well as the reference's do",
          "[golden][cost][long]") {
  for (const GoldenFile& file : pruner_files("training_on_logs.json")) {
    ComparedRows trainings(file.name);
    trainings.of("trainings on logs");
    const std::string folder = file.path.substr(0, file.path.find_last_of('/') + 1);
    const Json index = Json::parse(read_text(folder + "logs_index.json"));
    const Json logs = Json::parse(read_text(file.path));
    for (const auto& [name, expected] : logs.items()) {
      const std::string path = folder + "logs/" + name + ".json";
      if (!index.contains(name) ||
          (!std::filesystem::exists(path) && !std::filesystem::exists(path + ".gz"))) {
        std::printf("golden: log %s: not there, skipped\n", name.c_str());
        continue;
      }
      const auto records = expected.at("train_records").get<std::vector<std::size_t>>();
      const MeasuredLog log = measured_log(index.at(name), text_lines(read_text(path)),
                                           {records.begin(), records.end()});
      CHECK(log.train.size() == records.size());
      CHECK(log.test.size() == expected.at("test_count").get<std::size_t>());
      for (const ProgramModelOptions& options :
           {ProgramModelOptions::pam(), ProgramModelOptions::tenset_mlp()}) {
        ProgramModel model(options);
        const std::string kind = options.network == ProgramNetworkKind::pam ? "pam" : "mlp";
        INFO(name << ", " << kind);
        model.update(log.train);
        ScoredTask task{1, 1, std::vector<float>(log.test.size()), normalized_labels(log.test)};
        std::vector<Features> programs;
        for (const TrainingSample& sample : log.test) {
          programs.push_back(sample.features);
        }
        model.predict(programs, task.scores);
        const double pairs = pair_accuracy(task.scores, task.labels);
        // One seed, fewer epochs than the reference's.
        CHECK(pairs > least_of_seeds(expected.at(kind), "pairwise") - 0.04);
        CHECK(peak_score(task.scores, task.labels, 5) > 0.85);
        ++trainings;
      }
    }
  }
}

}  // namespace tensorsmith::test
