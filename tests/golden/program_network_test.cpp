// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
// The networks of Pruner and TenSet, with small and with full weights: the reference's scores,
// losses, gradients and steps.
#include "lib/cost/program_network.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/formula_networks.hpp"

namespace tensorsmith::test {
namespace {

using program_network::Adam;
using program_network::NetworkShape;
using program_network::ProgramBatch;
using program_network::ProgramNetwork;
using program_network::Vector;

void set_weights(ProgramNetwork& network, const Json& weights) {
  for (const auto& tensor : network.tensors()) {
    const Numbers values = numbers_of(weights.at(tensor.name));
    REQUIRE(values.size() == tensor.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      network.parameters()[tensor.offset + i] = static_cast<float>(values[i]);
    }
  }
  if (network.shape().has_flow()) {
    for (const auto& [name, vector] :
         {std::pair{"norm.running_mean", &network.statistics().mean},
          std::pair{"norm.running_var", &network.statistics().variance}}) {
      const Numbers values = numbers_of(weights.at(name));
      for (std::size_t i = 0; i < values.size(); ++i) {
        (*vector)[static_cast<Eigen::Index>(i)] = static_cast<float>(values[i]);
      }
    }
  }
}

double worst_weight(const ProgramNetwork& network, std::span<const float> actual,
                    const Json& expected) {
  double worst = 0;
  for (const auto& tensor : network.tensors()) {
    worst = std::max(worst, worst_of(tensor_values(network, tensor.name, actual),
                                     numbers_of(expected.at(tensor.name))));
  }
  return worst;
}

ProgramBatch tiny_batch(const Json& net) {
  ProgramBatch batch;
  batch.first_row.push_back(0);
  for (const Json& size : net.at("segment_sizes")) {
    batch.first_row.push_back(batch.first_row.back() + size.get<std::uint32_t>());
  }
  const auto columns = [](const Json& rows, Eigen::Index num_inputs) {
    const Numbers values = numbers_of(rows);
    program_network::Matrix matrix(num_inputs,
                                   static_cast<Eigen::Index>(values.size()) / num_inputs);
    for (std::size_t i = 0; i < values.size(); ++i) {
      matrix.data()[i] = static_cast<float>(values[i]);
    }
    return matrix;
  };
  batch.inputs = columns(net.at("X"), net.at("dims").at("in_dim"));
  batch.flow = columns(net.at("D"), net.at("dims").at("buf_in_dim"));
  return batch;
}

/// Loss and, in `network`, its gradient.
double loss_step(ProgramNetwork& network, const ProgramBatch& batch,
                 const std::vector<float>& labels, ProgramLoss kind) {
  Vector scores;
  network.forward(batch, scores);
  std::vector<float> slope(labels.size());
  const double loss = program_loss(kind, values_of(scores), labels, slope);
  network.backward(batch, Eigen::Map<Vector>(slope.data(), scores.size()));
  return loss;
}

/// Gradients in single precision add some hundreds of products, in an order that the width of the
/// machine's vectors decides: as many roundings.
constexpr double most_apart_in_gradient = 512 * 0x1p-24;

void compare_tiny(const Json& net, ComparedRows& compared) {
  const Json& dims = net.at("dims");
  const NetworkShape shape{dims.at("in_dim"), dims.at("hidden"), dims.at("buf_in_dim"),
                           dims.at("mha_hidden"), dims.at("heads")};
  const auto labels = net.at("labels").get<std::vector<float>>();
  const ProgramBatch batch = tiny_batch(net);
  ProgramNetwork network(shape);
  set_weights(network, net.at("weights"));
  Vector scores;
  network.evaluate(batch, &network.statistics(), scores);
  CHECK(worst_of(values_of(scores), numbers_of(net.at("forward_eval"))) < 1e-5);
  network.evaluate(batch, nullptr, scores);
  CHECK(worst_of(values_of(scores), numbers_of(net.at("forward_train"))) < 1e-5);

  CHECK(loss_step(network, batch, labels, ProgramLoss::lambda_rank) ==
        Approx(net.at("lambdarank_loss").get<double>()).epsilon(1e-5));
  CHECK(worst_weight(network, network.gradient(), net.at("grad")) < most_apart_in_gradient);
  CHECK(worst_of(values_of(network.statistics().mean), numbers_of(net.at("running_mean_after"))) <
        1e-5);
  CHECK(worst_of(values_of(network.statistics().variance),
                 numbers_of(net.at("running_var_after"))) < 1e-5);
  CHECK(loss_step(network, batch, labels, ProgramLoss::mean_square) ==
        Approx(net.at("mse_loss").get<double>()).epsilon(1e-5));
  CHECK(worst_weight(network, network.gradient(), net.at("mse_grad")) < most_apart_in_gradient);

  ProgramNetwork trained(shape);
  set_weights(trained, net.at("weights"));
  Adam adam;
  for (const Json& step : net.at("adam_steps")) {
    CHECK(loss_step(trained, batch, labels, ProgramLoss::lambda_rank) ==
          Approx(step.at("loss").get<double>()).epsilon(1e-4));
    CHECK(program_network::clip_gradient(trained.gradient(), 0.5F) ==
          Approx(step.at("grad_norm").get<double>()).epsilon(1e-3));
    adam.step(trained.parameters(), trained.gradient(), 7e-4F, 1e-6F);
  }
  // Where a slope is rounding only, steps have its sign alone: 7e-4 each, either way.
  for (const auto& tensor : trained.tensors()) {
    const Numbers expected = numbers_of(net.at("weights_after_5_adam").at(tensor.name));
    const Numbers slopes = numbers_of(net.at("grad").at(tensor.name));
    const auto actual = tensor_values(trained, tensor.name, trained.parameters());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO(tensor.name << " " << i);
      const double most = std::abs(slopes[i]) > 1e-4 ? 5e-5 : 10 * 7e-4;
      CHECK(std::abs(actual[i] - expected[i]) < most);
    }
  }
  ++compared;
}

void compare_formula(const Json& file, const std::string& name, ComparedRows& compared) {
  INFO(name);
  const Json& net = file.at(name);
  ProgramNetwork network = formula_network(file, name);
  std::size_t at = 0;
  for (const Json& tensor : net.at("order")) {
    CHECK(network.tensors().at(at++).name == tensor[0].get<std::string>());
  }
  CHECK(network.parameters().size() == net.at("formula_end").get<std::size_t>());
  const ProgramBatch batch = formula_batch(file, network.shape().has_flow());
  Vector scores;
  network.evaluate(batch, &network.statistics(), scores);
  CHECK(worst_of(values_of(scores), numbers_of(net.at("forward_eval"))) < 1e-5);
  network.forward(batch, scores);
  CHECK(worst_of(values_of(scores), numbers_of(net.at("forward_train"))) < 1e-5);

  // Of the printed scores: ours could swap two that are almost alike.
  const auto labels = file.at("labels").get<std::vector<float>>();
  const auto printed = net.at("forward_train").get<std::vector<float>>();
  std::vector<float> slope(labels.size());
  const auto compare = [&](ProgramLoss kind, const Json& loss, const Json& gradient) {
    CHECK(loss_in_order_of(loss, kind, printed, labels, slope) ==
          Approx(loss.get<double>()).epsilon(1e-5));
    network.backward(batch, Eigen::Map<Vector>(slope.data(), scores.size()));
    CHECK(worst_summary(network, network.gradient(), gradient) < 1e-4);
    ++compared;
  };
  compare(ProgramLoss::lambda_rank, net.at("lambdarank_loss"), net.at("grad"));
  double squares = 0;
  for (const float value : network.gradient()) {
    squares += static_cast<double>(value) * value;
  }
  CHECK(std::sqrt(squares) == Approx(net.at("grad_norm_total").get<double>()).epsilon(1e-4));
}

}  // namespace

TEST_CASE("small networks of the reference, step by step", "[golden][cost]") {
  for (const GoldenFile& file : pruner_files("nn_tiny.json")) {
    ComparedRows networks(file.name);
    networks.of("networks");
    for (const Json& net : Json::parse(read_text(file.path))) {
      compare_tiny(net, networks);
    }
  }
}

TEST_CASE("networks of full size with weights by a formula", "[golden][cost]") {
  for (const GoldenFile& file : pruner_files("nn_formula_nets.json")) {
    ComparedRows networks(file.name);
    networks.of("networks");
    const Json nets = Json::parse(read_text(file.path));
    compare_formula(nets, "pam", networks);
    compare_formula(nets, "mlp", networks);
  }
}

TEST_CASE("losses of the reference", "[golden][cost]") {
  for (const GoldenFile& file : pruner_files("losses.json")) {
    ComparedRows lists(file.name);
    lists.of("losses of lists");
    for (const Json& one : Json::parse(read_text(file.path))) {
      const auto scores = one.at("scores").get<std::vector<float>>();
      const auto labels = one.at("labels").get<std::vector<float>>();
      for (const auto& [name, kind] : {std::pair{"lambdaRank", ProgramLoss::lambda_rank},
                                       std::pair{"rankNet", ProgramLoss::rank_net},
                                       std::pair{"listNet", ProgramLoss::list_net}}) {
        INFO(one.at("kind") << ", " << name << ", " << scores.size());
        std::vector<float> slope(scores.size());
        CHECK(program_loss(kind, scores, labels, slope) ==
              Approx(one.at(name).at("loss").get<double>()).epsilon(1e-5).margin(1e-6));
        const Numbers expected = numbers_of(one.at(name).at("grad"));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          CHECK(std::isfinite(slope[i]));
          if (std::isfinite(expected[i])) {
            CHECK(slope[i] == Approx(expected[i]).epsilon(1e-4).margin(2e-6));
          }
        }
        ++lists;
      }
    }
  }
}

TEST_CASE("released weights score as they do in the reference", "[golden][cost]") {
  const PrunerPrograms programs("samples_cuda.jsonl");
  for (const GoldenFile& file : pruner_files("predictions_pam.json")) {
    ComparedRows compared(file.name);
    compared.of("scores");
    const Json checkpoints = Json::parse(read_text(file.path));
    for (const auto& [checkpoint, tasks] : checkpoints.items()) {
      const std::optional<std::vector<NamedTensor>> weights = released_weights(checkpoint);
      if (!weights) {
        continue;
      }
      ProgramNetwork network(NetworkShape::pam());
      const program_network::InputScale scale = set_released(*weights, network);
      for (const auto& [task, expected] : tasks.items()) {
        INFO(checkpoint << ", " << task);
        std::vector<program_network::ProgramInputs> inputs;
        for (const Json& sample : expected.at("samples")) {
          inputs.push_back(network_inputs(programs.program(task, sample)));
        }
        std::vector<const program_network::ProgramInputs*> pointers;
        for (const auto& one : inputs) {
          pointers.push_back(&one);
        }
        const ProgramBatch batch = program_network::make_batch(pointers, scale, true);
        Vector scores;
        network.evaluate(batch, &network.statistics(), scores);
        CHECK(worst_of(values_of(scores), numbers_of(expected.at("eval"))) < 1e-4);
        network.evaluate(batch, nullptr, scores);
        CHECK(worst_of(values_of(scores), numbers_of(expected.at("batch"))) < 1e-4);
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          ++compared;
        }
      }
    }
  }
}

}  // namespace tensorsmith::test
