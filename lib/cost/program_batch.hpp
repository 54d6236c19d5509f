// SPDX-License-Identifier: Apache-2.0
// Programs as inputs of the networks of TenSet and Pruner, and their scores.
//
// Internal to lib/cost. Pruner, ch. 3.6 and 3.7: the numbers of the workload are appended to every
// row; every column is divided by its largest value among the programs of the training.
#pragma once

#include <span>
#include <vector>

#include "program_network.hpp"
#include "tensorsmith/feature/features.hpp"
#include "tensorsmith/feature/pam_rows.hpp"
#include "tensorsmith/feature/workload_embedding.hpp"

namespace tensorsmith::program_network {

constexpr std::size_t row_inputs = feature_length + std::tuple_size_v<WorkloadEmbedding>;

/// What a network reads of one program.
struct ProgramInputs {
  std::vector<float> rows;  ///< [rows][row_inputs]
  std::vector<float> flow;  ///< [flow_rows][dataflow_columns]; empty for a network without
  bool follows_pattern = false;

  std::size_t num_rows() const { return rows.size() / row_inputs; }
  /// False for a program without features, or with numbers that are not finite.
  bool read(const Features& features, bool has_flow);
};

/// What columns are divided by: those of rows, then those of accesses.
class InputScale {
 public:
  static std::size_t size(bool has_flow) { return row_inputs + (has_flow ? dataflow_columns : 0); }
  bool is_set() const { return !values_.empty(); }
  std::span<const float> values() const { return values_; }
  void set(std::vector<float> values) { values_ = std::move(values); }
  /// The largest number of each column; 1 where that is not above 0.
  void fit(std::span<const ProgramInputs* const> programs, bool has_flow);
  void scale_row(const float* row, float* out) const;
  void scale_access(const float* access, float* out) const;

 private:
  std::vector<float> values_;
};

ProgramBatch make_batch(std::span<const ProgramInputs* const> programs, const InputScale& scale,
                        bool has_flow);

/// Scores under the running statistics; invalid_score for a program without features. Each is
/// computed by the same instructions wherever the program stands.
void predict(const ProgramNetwork& network, const InputScale& scale,
             std::span<const Features> programs, std::span<float> scores);

}  // namespace tensorsmith::program_network
