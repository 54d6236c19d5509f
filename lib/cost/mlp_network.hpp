// SPDX-License-Identifier: Apache-2.0
// MlpNetwork: the parameters of the MLP cost model, its forward and backward pass, and AdamW.
//
// Internal to lib/cost. Columns are feature rows or programs: X is [num_inputs, rows].
// Not here: training data, batches, files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// One thread: the sums must not depend on how many there are.
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#include <Eigen/Core>

#include "tensorsmith/feature/feature_vector.hpp"

namespace tensorsmith::mlp_detail {

using Matrix = Eigen::MatrixXf;
using Vector = Eigen::VectorXf;

/// Rows of a batch, program by program: program p owns columns [first_row[p], first_row[p + 1]).
struct RowBatch {
  Matrix inputs;                         ///< standardised, [num_inputs, rows]
  std::vector<std::uint32_t> first_row;  ///< size programs + 1

  std::size_t num_programs() const { return first_row.size() - 1; }
};

class MlpNetwork {
 public:
  /// All parameters zero; call initialize() or fill parameters().
  explicit MlpNetwork(std::uint32_t num_hidden,
                      std::uint32_t num_inputs = std::uint32_t{feature_length});

  /// Uniform in +-1/sqrt(inputs of the layer).
  void initialize(std::uint64_t seed);

  std::uint32_t num_hidden() const { return num_hidden_; }
  std::span<float> parameters() { return parameters_; }
  std::span<const float> parameters() const { return parameters_; }
  std::span<const float> gradient() const { return gradient_; }

  /// First layer, for the change of input statistics: [num_hidden, num_inputs] and its bias.
  Eigen::Map<Matrix> input_weights();
  Eigen::Map<Vector> input_bias();

  /// Encoded rows of one block, [num_hidden, inputs.cols()].
  void encode(const Matrix& inputs, Matrix& hidden, Matrix& encoded) const;
  /// Scores of summed rows [num_hidden, programs]; `sums` is overwritten.
  void decode(Matrix& sums, Matrix& hidden, Vector& scores) const;

  /// d score / d inputs of the one program whose rows `inputs` are: `gradient` has their shape.
  void input_gradient(const Matrix& inputs, Matrix& gradient) const;

  /// Forward pass that keeps what backward() needs.
  void forward(const RowBatch& batch, Vector& scores);
  /// Gradient of all parameters for d loss / d scores of the last forward() of `batch`.
  void backward(const RowBatch& batch, const Vector& score_gradient);

  /// Clips the gradient to the norm and applies one AdamW step.
  void step(float learning_rate, float weight_decay, float max_gradient_norm);
  void reset_optimizer();

 private:
  struct Offsets {
    std::size_t weights;
    std::size_t bias;
  };
  Offsets layer(int index) const;  // 0, 1 encoder, 2, 3 residual, 4 score
  std::uint32_t inputs_of(int index) const;
  Eigen::Map<const Matrix> weights(int index) const;
  Eigen::Map<const Vector> bias(int index) const;
  Eigen::Map<Matrix> weight_gradient(int index);
  Eigen::Map<Vector> bias_gradient(int index);

  std::uint32_t num_hidden_, num_inputs_;
  std::vector<float> parameters_, gradient_, first_moment_, second_moment_;
  std::uint64_t num_steps_ = 0;
  Matrix row_hidden_, row_encoded_, summed_, residual_[2], decoded_[2];
};

}  // namespace tensorsmith::mlp_detail
