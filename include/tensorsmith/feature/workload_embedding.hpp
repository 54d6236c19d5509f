// SPDX-License-Identifier: Apache-2.0
// workload_embedding: what a program computes, as TenSet's models are told: ten numbers.
//
// Floor 5. Pruner, ch. 3.6. Nine words, 1 where the printed program has it; the tenth is always 0.
// Neither shapes nor the device are in it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/te/dag_text.hpp"

namespace tensorsmith {

inline constexpr std::string_view embedding_block_name = "workload_embedding";
inline constexpr std::array<std::string_view, 9> embedding_words{"max",
                                                                 "min",
                                                                 "add",
                                                                 "Conv2dOutput",
                                                                 "conv2d_winograd",
                                                                 "DepthwiseConv2d",
                                                                 "dense",
                                                                 "softmax",
                                                                 "compute(b, i, j)"};
using WorkloadEmbedding = std::array<float, embedding_words.size() + 1>;

inline WorkloadEmbedding workload_embedding(const ComputeDag& dag) {
  const std::string text = te::dag_text(dag);
  WorkloadEmbedding numbers{};
  for (std::size_t i = 0; i < embedding_words.size(); ++i) {
    numbers[i] = text.find(embedding_words[i]) == std::string::npos ? 0.0F : 1.0F;
  }
  return numbers;
}

inline const Shared<const BlockSchema>& embedding_schema() {
  static const Shared<const BlockSchema> schema = [] {
    std::vector<std::string> tags(embedding_words.begin(), embedding_words.end());
    tags.emplace_back("unused");
    return make_shared_of<const BlockSchema>(std::string(embedding_block_name), std::move(tags),
                                             1U);
  }();
  return schema;
}

/// The row of the feature table.
inline FeatureExtractor embedding_block() {
  return {embedding_schema(),
          [](const ProgramView& view, const FeatureContext&, FeatureBlock& block) {
            const WorkloadEmbedding numbers = workload_embedding(*view.state().initial_dag());
            block.values.assign(numbers.begin(), numbers.end());
            block.num_rows = 1;
            return true;
          }};
}

}  // namespace tensorsmith
