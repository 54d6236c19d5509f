// SPDX-License-Identifier: Apache-2.0
// pam_rows: what the pattern-aware model (PAM) sees of a program: a row per stored buffer, and the
// eight accesses by which a contraction flows through shared memory.
//
// Floor 5. Pruner, ch. 3. The rows are those of the Ansor reference in TenSet's form; they are also
// what TenSet's own model reads. Both come from one walk. Not here: the walk (feature_rows.hpp),
// the pattern (access_sequence.hpp), what a program computes (workload_embedding.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_table.hpp"

namespace tensorsmith {

inline constexpr std::string_view statements_block_name = "pam_statements";
inline constexpr std::string_view dataflow_block_name = "pam_dataflow";
constexpr std::size_t dataflow_rows = 8;
/// Operations, three places, the columns of a buffer, its size.
constexpr std::size_t dataflow_columns = 1 + 3 + num_buffer_columns + 1;

struct PamRows {
  FeatureMatrix statements;
  /// Row-major; zeros where the program does not follow the pattern.
  std::array<float, dataflow_rows * dataflow_columns> dataflow{};
};

/// No statements if the program cannot be built. A part of a ProgramView.
TENSORSMITH_INLINE PamRows pam_rows_of(const ProgramView& view, const FeatureContext& context);

/// The reference's columns, though two of them say something else (FeatureForm::tenset).
inline const Shared<const BlockSchema>& statements_schema() {
  static const Shared<const BlockSchema> schema = make_shared_of<const BlockSchema>(
      std::string(statements_block_name), std::vector<std::string>(ansor_schema()->tags()));
  return schema;
}

inline const Shared<const BlockSchema>& dataflow_schema() {
  static const Shared<const BlockSchema> schema = [] {
    std::vector<std::string> tags{"float_op", "global", "shared", "local"};
    for (std::size_t c = 0; c < num_buffer_columns; ++c) {
      tags.push_back(feature_name(column(0, BufferColumn{}) + c).substr(3));  // without "B0."
    }
    tags.emplace_back("alloc_size");
    return make_shared_of<const BlockSchema>(std::string(dataflow_block_name), std::move(tags),
                                             static_cast<std::uint32_t>(dataflow_rows));
  }();
  return schema;
}

/// The rows of the feature table.
inline FeatureExtractor statements_block() {
  return {statements_schema(),
          [](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            const FeatureMatrix& rows = view.part<pam_rows_of>(context).statements;
            block.num_rows = rows.num_rows;
            block.values = rows.values;
            return block.num_rows > 0;
          }};
}
inline FeatureExtractor dataflow_block() {
  return {dataflow_schema(),
          [](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            const PamRows& rows = view.part<pam_rows_of>(context);
            block.num_rows = static_cast<std::uint32_t>(dataflow_rows);
            block.values.assign(rows.dataflow.begin(), rows.dataflow.end());
            return rows.statements.num_rows > 0;
          }};
}

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/feature/pam_rows_body.hpp"
#endif
