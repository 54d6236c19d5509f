// SPDX-License-Identifier: Apache-2.0
#include "program_batch.hpp"

#include <algorithm>
#include <cmath>

#include "block_encoder.hpp"
#include "tensorsmith/cost/cost_model.hpp"

namespace tensorsmith::program_network {
namespace {

constexpr Eigen::Index block_columns = BlockEncoder::columns;
constexpr Eigen::Index block_programs = block_columns / flow_rows;

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

void divide(const float* values, const float* by, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = values[i] / by[i];
  }
}

/// Scores programs in blocks of columns.
class Predictor {
 public:
  Predictor(const ProgramNetwork& network, const InputScale& scale, std::span<float> scores)
      : network_(network), scale_(scale), encoder_(network, scores),
        has_flow_(network.shape().has_flow()) {
    if (has_flow_) {
      flow_ = Matrix::Zero(network.shape().flow_inputs, block_columns);
      branch_ = Matrix::Zero(network.shape().flow_hidden, block_columns);
    }
  }

  void add(const ProgramInputs& program, std::size_t position) {
    const Eigen::Index slot =
        encoder_.add(position, program.num_rows(), [&](std::size_t r, float* out) {
          scale_.scale_row(program.rows.data() + r * row_inputs, out);
        });
    if (has_flow_ && program.follows_pattern) {
      const auto at = static_cast<Eigen::Index>(flow_slots_.size()) * flow_rows;
      for (Eigen::Index r = 0; r < flow_rows; ++r) {
        scale_.scale_access(program.flow.data() + static_cast<std::size_t>(r) * dataflow_columns,
                            flow_.col(at + r).data());
      }
      flow_slots_.push_back(slot);
      if (flow_slots_.size() == static_cast<std::size_t>(block_programs)) {
        branch();
      }
    } else if (has_flow_) {
      branch_.col(slot) = without_pattern();
    }
    if (encoder_.is_full()) {
      finish();
    }
  }

  void finish() {
    if (!encoder_.is_empty()) {
      branch();
      encoder_.finish(branch_);
    }
  }

 private:
  void branch() {
    if (flow_slots_.empty()) {
      return;
    }
    Matrix result;
    network_.branch(flow_, result);
    for (std::size_t i = 0; i < flow_slots_.size(); ++i) {
      branch_.col(flow_slots_[i]) = result.col(static_cast<Eigen::Index>(i));
    }
    flow_slots_.clear();
  }
  /// The same column for all programs of which the branch sees zeros.
  const Vector& without_pattern() {
    if (constant_.size() == 0) {
      Matrix result;
      network_.branch(Matrix::Zero(flow_.rows(), block_columns), result);
      constant_ = result.col(0);
    }
    return constant_;
  }

  const ProgramNetwork& network_;
  const InputScale& scale_;
  BlockEncoder encoder_;
  bool has_flow_;
  Matrix flow_, branch_;
  Vector constant_;
  std::vector<Eigen::Index> flow_slots_;
};

}  // namespace

bool ProgramInputs::read(const Features& features, bool has_flow) {
  const FeatureBlock* statements = features.find(statements_block_name);
  const FeatureBlock* workload = features.find(embedding_block_name);
  const FeatureBlock* accesses = has_flow ? features.find(dataflow_block_name) : nullptr;
  if (statements == nullptr || workload == nullptr || (has_flow && accesses == nullptr) ||
      statements->num_rows == 0 || !all_finite(statements->values) ||
      (has_flow && !all_finite(accesses->values))) {
    return false;
  }
  rows.clear();
  for (std::uint32_t r = 0; r < statements->num_rows; ++r) {
    const std::span<const float> row = statements->row(r);
    rows.insert(rows.end(), row.begin(), row.end());
    rows.insert(rows.end(), workload->values.begin(), workload->values.end());
  }
  TENSORSMITH_ASSERT(rows.size() % row_inputs == 0, "a feature block of a wrong size");
  if (has_flow) {
    flow = accesses->values;
    follows_pattern =
        std::any_of(flow.begin(), flow.end(), [](float value) { return value != 0.0F; });
  }
  return true;
}

void InputScale::fit(std::span<const ProgramInputs* const> programs, bool has_flow) {
  values_.assign(size(has_flow), 0.0F);
  for (const ProgramInputs* program : programs) {
    for (std::size_t i = 0; i < program->rows.size(); ++i) {
      values_[i % row_inputs] = std::max(values_[i % row_inputs], program->rows[i]);
    }
    for (std::size_t i = 0; has_flow && i < program->flow.size(); ++i) {
      float& most = values_[row_inputs + i % dataflow_columns];
      most = std::max(most, program->flow[i]);
    }
  }
  for (float& value : values_) {
    value = value > 0.0F ? value : 1.0F;
  }
}

void InputScale::scale_row(const float* row, float* out) const {
  divide(row, values_.data(), row_inputs, out);
}
void InputScale::scale_access(const float* access, float* out) const {
  divide(access, values_.data() + row_inputs, dataflow_columns, out);
}

ProgramBatch make_batch(std::span<const ProgramInputs* const> programs, const InputScale& scale,
                        bool has_flow) {
  ProgramBatch batch;
  batch.first_row.push_back(0);
  for (const ProgramInputs* program : programs) {
    batch.first_row.push_back(batch.first_row.back() +
                              static_cast<std::uint32_t>(program->num_rows()));
  }
  batch.inputs.resize(row_inputs, batch.first_row.back());
  if (has_flow) {
    batch.flow.resize(dataflow_columns, flow_rows * batch.num_programs());
  }
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const ProgramInputs& program = *programs[p];
    for (std::size_t r = 0; r < program.num_rows(); ++r) {
      scale.scale_row(program.rows.data() + r * row_inputs,
                      batch.inputs.col(static_cast<Eigen::Index>(batch.first_row[p] + r)).data());
    }
    for (Eigen::Index r = 0; has_flow && r < flow_rows; ++r) {
      scale.scale_access(program.flow.data() + static_cast<std::size_t>(r) * dataflow_columns,
                         batch.flow.col(static_cast<Eigen::Index>(p) * flow_rows + r).data());
    }
  }
  return batch;
}

void predict(const ProgramNetwork& network, const InputScale& scale,
             std::span<const Features> programs, std::span<float> scores) {
  Predictor predictor(network, scale, scores);
  ProgramInputs inputs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (inputs.read(programs[i], network.shape().has_flow())) {
      predictor.add(inputs, i);
    } else {
      scores[i] = invalid_score;
    }
  }
  predictor.finish();
}

}  // namespace tensorsmith::program_network
