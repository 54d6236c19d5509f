// SPDX-License-Identifier: Apache-2.0
// The networks of TenSet (MLP) and Pruner (PAM) over the rows of a program, forward and backward.
//
// Internal to lib/cost. Shapes and order of the parameters: Pruner, ch. 4.1 and 6.3. Weights are
// stored as the released ones are, [outputs][inputs] row by row; matrices of numbers hold one row
// of features or one program per column.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mlp_network.hpp"

namespace tensorsmith::program_network {

using mlp_detail::Matrix;
using mlp_detail::Vector;

/// Accesses of a program that the branch for data flow reads.
constexpr Eigen::Index flow_rows = 8;

struct NetworkShape {
  std::uint32_t num_inputs = 174, num_hidden = 256;
  /// The branch for data flow and the norm behind it; 0 inputs: there is neither.
  std::uint32_t flow_inputs = 0, flow_hidden = 128, num_heads = 4;

  bool has_flow() const { return flow_inputs > 0; }
  static NetworkShape pam() { return {174, 256, 23, 128, 4}; }
  static NetworkShape mlp() { return {}; }
  bool operator==(const NetworkShape&) const = default;
};

struct ProgramBatch {
  Matrix inputs;                         ///< [num_inputs, all rows]
  std::vector<std::uint32_t> first_row;  ///< per program, and the end
  Matrix flow;                           ///< [flow_inputs, flow_rows * programs]

  Eigen::Index num_programs() const { return static_cast<Eigen::Index>(first_row.size()) - 1; }
};

/// One tensor of the parameters, by the reference's name.
struct ParameterTensor {
  std::string name;
  std::uint32_t num_outputs = 0, num_inputs = 0;  ///< of a vector: 1 input
  std::size_t offset = 0;
  bool is_vector = false;

  std::size_t size() const { return std::size_t{num_outputs} * num_inputs; }
};

/// Statistics of the norm: of all programs it was trained with, or of one batch.
struct NormStatistics {
  Vector mean, variance;
};

class ProgramNetwork {
 public:
  explicit ProgramNetwork(const NetworkShape& shape);

  const NetworkShape& shape() const { return shape_; }
  const std::vector<ParameterTensor>& tensors() const { return tensors_; }
  std::span<float> parameters() { return parameters_; }
  std::span<const float> parameters() const { return parameters_; }
  std::span<float> gradient() { return gradient_; }
  std::span<const float> gradient() const { return gradient_; }
  /// Running statistics; empty without a norm.
  NormStatistics& statistics() { return statistics_; }
  const NormStatistics& statistics() const { return statistics_; }

  /// Random weights as the reference's framework draws them, by the seed.
  void initialize(std::uint64_t seed);

  /// Three parts of an evaluation, each column by itself: rows to their codes, eight accesses per
  /// program to one column, and (sums of codes, branch) to scores under the running statistics.
  void encode(const Matrix& inputs, Matrix& hidden, Matrix& encoded) const;
  void branch(const Matrix& flow, Matrix& result) const;
  void decode(const Matrix& sums, const Matrix& branch, Vector& scores) const;

  /// All of it, of whole batches. `statistics`: null for those of the batch itself.
  void evaluate(const ProgramBatch& batch, const NormStatistics* statistics, Vector& scores) const;
  /// What the norm would see: mean and variance (biased) of what is put into it.
  NormStatistics statistics_of(const ProgramBatch& batch) const;

  /// d score / d inputs of programs whose rows `inputs` are, one after the other, as in a
  /// ProgramBatch; only of a network without flow.
  Matrix input_gradient(const Matrix& inputs, std::span<const std::uint32_t> first_row) const;

  /// Under the statistics of the batch; moves the running ones, keeps what backward() needs.
  void forward(const ProgramBatch& batch, Vector& scores);
  /// Gradient of all parameters for d loss / d scores of the last forward().
  void backward(const ProgramBatch& batch, const Vector& score_gradient);

 private:
  /// Linear layers in the order of tensors(); each has a matrix and then a vector.
  enum Layer : std::uint8_t {
    code_0,
    code_1,
    fuse,
    residual_0,
    residual_1,
    flow_0,
    flow_1,
    query,
    out,
    score,
    num_layers
  };
  /// What a forward pass of the branch leaves behind.
  struct Attention {
    Matrix hidden, encoded, projected, weights, context;
  };

  void add_layer(Layer layer, const char* weight, const char* bias, std::uint32_t outputs,
                 std::uint32_t inputs);
  const float* weight(Layer layer) const { return parameters_.data() + offset_[layer]; }
  Eigen::Map<const Vector> bias(Layer layer) const;
  /// W^T slope, into `of_inputs`.
  void add_input_slope(Layer layer, const Matrix& slope, Matrix& of_inputs) const;
  /// W x + b, then the rectifier if asked for.
  void linear(Layer layer, const Matrix& inputs, Matrix& outputs, bool is_rectified) const;
  /// Gradients of the layer for `slope` at its outputs; adds those of its inputs to `of_inputs`.
  void linear_backward(Layer layer, const Matrix& inputs, const Matrix& slope, Matrix* of_inputs);
  void attend(const Matrix& flow, Attention& kept, Matrix& result) const;
  void attend_backward(const Matrix& flow, const Matrix& result_slope);
  void sum_rows(const ProgramBatch& batch, const Matrix& encoded, Matrix& sums) const;
  void normalize(const Matrix& inputs, const NormStatistics& statistics, Matrix& outputs) const;
  void head(const Matrix& normed, Vector& scores) const;
  Matrix fused(const ProgramBatch& batch) const;

  NetworkShape shape_;
  std::vector<ParameterTensor> tensors_;
  std::size_t offset_[num_layers] = {}, norm_offset_ = 0;
  std::uint32_t outputs_[num_layers] = {}, inputs_[num_layers] = {};
  std::vector<float> parameters_, gradient_;
  NormStatistics statistics_;
  // Of the last forward().
  Matrix hidden_, encoded_, joined_, fused_, centred_, normed_, residual_[2], middle_, last_;
  Vector inverse_deviation_;
  Attention attention_;
};

/// Mean and variance (biased) of every row.
NormStatistics row_statistics(const Matrix& values);

/// Adam (ICLR 2015), the decay added to the gradient.
class Adam {
 public:
  void step(std::span<float> parameters, std::span<float> gradient, float learning_rate,
            float weight_decay);

 private:
  std::vector<float> first_, second_;
  double num_steps_ = 0;
};

/// Scales the gradient to the norm if it is longer; its norm before.
float clip_gradient(std::span<float> gradient, float most);

}  // namespace tensorsmith::program_network
