// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
// Felix's network with weights by a formula: the reference's scores, losses, gradients and steps.
#include <string>
#include <vector>

#include "lib/cost/felix_losses.hpp"
#include "support/catch.hpp"
#include "support/formula_networks.hpp"
#include "support/golden_numbers.hpp"
#include "support/pruner_programs.hpp"
#include "tensorsmith/feature/felix_rows.hpp"

namespace tensorsmith::test {
namespace {

using program_network::ProgramBatch;
using program_network::ProgramNetwork;
using program_network::Vector;

/// The programs of the file, features extracted here.
ProgramBatch felix_batch(const Json& inputs) {
  const PrunerPrograms programs("samples_cuda.jsonl");
  std::vector<float> values;
  ProgramBatch batch;
  batch.first_row.push_back(0);
  for (const Json& input : inputs) {
    const State program = programs.program(input[0], input[1]);
    const ProgramView view(program);
    const FelixRows& rows = view.part<felix_rows_of>(FeatureContext());
    values.insert(values.end(), rows.values.begin(), rows.values.end());
    batch.first_row.push_back(static_cast<std::uint32_t>(values.size() / felix_length));
  }
  batch.inputs = Eigen::Map<const program_network::Matrix>(
      values.data(), static_cast<Eigen::Index>(felix_length),
      static_cast<Eigen::Index>(values.size() / felix_length));
  return batch;
}

ProgramNetwork felix_network(const Json& file) {
  program_network::NetworkShape shape;
  shape.num_inputs = felix_length;
  ProgramNetwork network(shape);
  set_formula_weights(network, file.at("formula_start").get<std::uint64_t>());
  return network;
}

/// The loss and, in `network`, its gradient.
double felix_step(ProgramNetwork& network, const ProgramBatch& batch,
                  const std::vector<double>& labels, FelixLoss kind) {
  Vector scores;
  network.forward(batch, scores);
  std::vector<float> slope(labels.size());
  const double loss = felix_loss(kind, 1e5, values_of(scores), labels, slope);
  network.backward(batch, Eigen::Map<Vector>(slope.data(), scores.size()));
  return loss;
}

void compare_felix(const Json& file) {
  ProgramNetwork network = felix_network(file);
  CHECK(network.parameters().size() == file.at("parameters").get<std::size_t>());
  std::size_t at = 0;
  for (const Json& tensor : file.at("order")) {
    CHECK(network.tensors().at(at++).name == tensor[0].get<std::string>());
  }
  const ProgramBatch batch = felix_batch(file.at("inputs"));
  const auto labels = file.at("labels_1_over_s").get<std::vector<double>>();
  Vector scores;
  network.evaluate(batch, nullptr, scores);
  CHECK(worst_of(values_of(scores), numbers_of(file.at("forward"))) < 1e-5);
  for (const auto& [name, kind] : {std::pair{"log_mse", FelixLoss::log_square},
                                   {"mse", FelixLoss::square},
                                   {"rank", FelixLoss::rank}}) {
    INFO(name);
    const Json& expected = file.at(name);
    CHECK(felix_step(network, batch, labels, kind) ==
          Approx(expected.at("loss").get<double>()).epsilon(1e-4));
    CHECK(worst_summary(network, network.gradient(), expected.at("grad")) < 1e-3);
  }
  program_network::Adam adam;
  const Json& steps = file.at("adam_no_clip");
  for (const Json& loss : steps.at("loss")) {
    CHECK(felix_step(network, batch, labels, FelixLoss::log_square) ==
          Approx(loss.get<double>()).epsilon(1e-3));
    adam.step(network.parameters(), network.gradient(), 1e-4F, 1e-6F);
  }
  CHECK(worst_summary(network, network.parameters(), steps.at("params")) < 1e-3);
  network.evaluate(batch, nullptr, scores);
  CHECK(worst_of(values_of(scores), numbers_of(steps.at("forward_after_20"))) < 1e-3);
}

}  // namespace

TEST_CASE("Felix's network of full size with weights by a formula", "[golden][cost]") {
  for (const GoldenFile& file : felix_files("mlp_formula_net.json")) {
    ComparedRows networks(file.name);
    networks.of("networks");
    compare_felix(Json::parse(read_text(file.path)));
    ++networks;
  }
}

}  // namespace tensorsmith::test
