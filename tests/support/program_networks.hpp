// SPDX-License-Identifier: Apache-2.0
// Inputs and released weights for the networks of TenSet and Pruner.
//
// Test support, for sources that have Eigen.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/cost/program_batch.hpp"
#include "support/pruner_programs.hpp"
#include "tensorsmith/cost/program_model.hpp"

namespace tensorsmith::test {

/// The blocks that the networks read.
inline Features network_features(const State& state) {
  const ProgramView view(state);
  const FeatureContext context;
  std::vector<FeatureBlock> blocks;
  for (const FeatureExtractor& row : {statements_block(), embedding_block(), dataflow_block()}) {
    FeatureBlock block{row.schema, 0, {}};
    if (!row.extract(view, context, block)) {
      return {};
    }
    blocks.push_back(std::move(block));
  }
  return Features(std::move(blocks));
}

inline program_network::ProgramInputs network_inputs(const State& state) {
  program_network::ProgramInputs inputs;
  if (!inputs.read(network_features(state), true)) {
    throw std::runtime_error("a program without features");
  }
  return inputs;
}

/// Tensors of weights/`name`: of the given folder, else of the project's own; nothing, and a line
/// that says so, if neither has it.
inline std::optional<std::vector<NamedTensor>> released_weights(const std::string& name) {
  std::vector<std::string> paths;
  for (const GoldenFile& file : pruner_files("weights")) {
    paths.push_back(file.path + "/" + name);
  }
  paths.push_back(std::string(TENSORSMITH_TEST_DATA_DIR) + "/golden/pruner/weights/" + name);
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path + ".json")) {
      continue;
    }
    const std::vector<float> floats = read_floats(path + ".f32");
    std::vector<NamedTensor> tensors;
    const Json index = Json::parse(read_text(path + ".json"));
    for (const Json& tensor : index.at("tensors")) {
      const auto first = floats.begin() + tensor.at("offset").get<std::ptrdiff_t>();
      tensors.push_back({tensor.at("name").get<std::string>(),
                         {first, first + tensor.at("count").get<std::ptrdiff_t>()}});
    }
    return tensors;
  }
  std::printf("golden: weights %s: not there, skipped\n", name.c_str());
  return std::nullopt;
}

/// The scales that belong to the weights.
inline program_network::InputScale set_released(const std::vector<NamedTensor>& tensors,
                                                program_network::ProgramNetwork& network) {
  const auto find = [&](const std::string& name) {
    for (const NamedTensor& tensor : tensors) {
      if (tensor.name == name) {
        return tensor.values;
      }
    }
    throw std::runtime_error("no tensor " + name);
  };
  for (const auto& tensor : network.tensors()) {
    const std::vector<float> values = find(tensor.name);
    std::copy(values.begin(), values.end(),
              network.parameters().begin() + static_cast<std::ptrdiff_t>(tensor.offset));
  }
  const std::vector<float> mean = find("norm.running_mean"), variance = find("norm.running_var");
  std::copy(mean.begin(), mean.end(), network.statistics().mean.begin());
  std::copy(variance.begin(), variance.end(), network.statistics().variance.begin());
  std::vector<float> divisors = find("feature_norm_statement");
  const std::vector<float> more = find("feature_norm_block");
  divisors.insert(divisors.end(), more.begin(), more.end());
  program_network::InputScale scale;
  scale.set(std::move(divisors));
  return scale;
}

}  // namespace tensorsmith::test
