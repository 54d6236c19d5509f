// SPDX-License-Identifier: Apache-2.0
#include "mlp_network.hpp"

#include <cmath>

#include "mlp_products.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::mlp_detail {
namespace {

constexpr int num_layers = 5;
constexpr float first_decay = 0.9F, second_decay = 0.999F;  // Adam, ICLR 2015

// target = A B, A B^T, target + A^T B
template <class A, class B, class C>
void set_product(C&& target, const A& a, const B& b) {
  products().set_ab(a.data(), b.data(), target.data(), a.rows(), a.cols(), b.cols());
}
template <class A, class B, class C>
void set_product_transposed(C&& target, const A& a, const B& b) {
  products().set_abt(a.data(), b.data(), target.data(), a.rows(), a.cols(), b.rows());
}
template <class A, class B, class C>
void add_transposed_product(C&& target, const A& a, const B& b) {
  products().add_atb(a.data(), b.data(), target.data(), a.cols(), a.rows(), b.cols());
}

// y = relu(W x + b)
void relu_layer(const Eigen::Map<const Matrix>& weights, const Eigen::Map<const Vector>& bias,
                const Matrix& inputs, Matrix& outputs) {
  outputs.resize(weights.rows(), inputs.cols());
  set_product(outputs, weights, inputs);
  outputs.colwise() += bias;
  outputs = outputs.cwiseMax(0.0F);
}

// Zeroes the gradient where the rectifier was closed.
void close_gradient(const Matrix& activated, Matrix& gradient) {
  gradient = (activated.array() > 0.0F).select(gradient, 0.0F);
}

}  // namespace

MlpNetwork::MlpNetwork(std::uint32_t num_hidden, std::uint32_t num_inputs)
    : num_hidden_(num_hidden), num_inputs_(num_inputs) {
  const std::size_t size = layer(num_layers).weights;
  parameters_.assign(size, 0.0F);
  gradient_.assign(size, 0.0F);
  reset_optimizer();
}

std::uint32_t MlpNetwork::inputs_of(int index) const {
  return index == 0 ? num_inputs_ : num_hidden_;
}

MlpNetwork::Offsets MlpNetwork::layer(int index) const {
  std::size_t offset = 0;
  for (int i = 0; i < index; ++i) {
    const std::size_t outputs = i == num_layers - 1 ? 1 : num_hidden_;
    offset += outputs * inputs_of(i) + outputs;
  }
  const std::size_t outputs = index == num_layers - 1 ? 1 : num_hidden_;
  return {offset, offset + outputs * inputs_of(index)};
}

Eigen::Map<const Matrix> MlpNetwork::weights(int index) const {
  const Eigen::Index outputs = index == num_layers - 1 ? 1 : num_hidden_;
  return {parameters_.data() + layer(index).weights, outputs, inputs_of(index)};
}
Eigen::Map<const Vector> MlpNetwork::bias(int index) const {
  const Eigen::Index outputs = index == num_layers - 1 ? 1 : num_hidden_;
  return {parameters_.data() + layer(index).bias, outputs};
}
Eigen::Map<Matrix> MlpNetwork::weight_gradient(int index) {
  const Eigen::Index outputs = index == num_layers - 1 ? 1 : num_hidden_;
  return {gradient_.data() + layer(index).weights, outputs, inputs_of(index)};
}
Eigen::Map<Vector> MlpNetwork::bias_gradient(int index) {
  const Eigen::Index outputs = index == num_layers - 1 ? 1 : num_hidden_;
  return {gradient_.data() + layer(index).bias, outputs};
}
Eigen::Map<Matrix> MlpNetwork::input_weights() {
  return {parameters_.data() + layer(0).weights, num_hidden_, num_inputs_};
}
Eigen::Map<Vector> MlpNetwork::input_bias() {
  return {parameters_.data() + layer(0).bias, num_hidden_};
}

void MlpNetwork::initialize(std::uint64_t seed) {
  for (int i = 0; i < num_layers; ++i) {
    CounterRng rng(seed, static_cast<std::uint32_t>(i));
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs_of(i)));
    for (std::size_t p = layer(i).weights; p < layer(i + 1).weights; ++p) {
      parameters_[p] = static_cast<float>((2.0 * rng.next_double() - 1.0) * bound);
    }
  }
}

void MlpNetwork::encode(const Matrix& inputs, Matrix& hidden, Matrix& encoded) const {
  relu_layer(weights(0), bias(0), inputs, hidden);
  relu_layer(weights(1), bias(1), hidden, encoded);
}

void MlpNetwork::decode(Matrix& sums, Matrix& hidden, Vector& scores) const {
  for (int i = 2; i < 4; ++i) {
    relu_layer(weights(i), bias(i), sums, hidden);
    sums += hidden;
  }
  // Column by column: a matrix-vector product could sum in another order at the edge of a block.
  const auto last = weights(4);
  scores.resize(sums.cols());
  for (Eigen::Index p = 0; p < sums.cols(); ++p) {
    scores[p] = last.row(0).transpose().dot(sums.col(p)) + bias(4)[0];
  }
}

void MlpNetwork::input_gradient(const Matrix& inputs, Matrix& gradient) const {
  Matrix hidden, encoded, residual[2];
  encode(inputs, hidden, encoded);
  Matrix decoded = encoded.rowwise().sum();
  for (int i = 0; i < 2; ++i) {
    relu_layer(weights(i + 2), bias(i + 2), decoded, residual[i]);
    decoded += residual[i];
  }
  Matrix slope = weights(4).transpose();
  for (int i = 1; i >= 0; --i) {
    Matrix inner = slope;
    close_gradient(residual[i], inner);
    add_transposed_product(slope, weights(i + 2), inner);
  }
  Matrix of_rows(slope.rows(), inputs.cols());
  of_rows.colwise() = slope.col(0);
  close_gradient(encoded, of_rows);
  Matrix of_hidden = Matrix::Zero(num_hidden_, inputs.cols());
  add_transposed_product(of_hidden, weights(1), of_rows);
  close_gradient(hidden, of_hidden);
  gradient = Matrix::Zero(inputs.rows(), inputs.cols());
  add_transposed_product(gradient, weights(0), of_hidden);
}

void MlpNetwork::forward(const RowBatch& batch, Vector& scores) {
  const Eigen::Index programs = static_cast<Eigen::Index>(batch.num_programs());
  encode(batch.inputs, row_hidden_, row_encoded_);
  summed_.setZero(num_hidden_, programs);
  for (Eigen::Index p = 0; p < programs; ++p) {
    for (std::uint32_t r = batch.first_row[p]; r < batch.first_row[p + 1]; ++r) {
      summed_.col(p) += row_encoded_.col(r);
    }
  }
  relu_layer(weights(2), bias(2), summed_, residual_[0]);
  decoded_[0] = summed_ + residual_[0];
  relu_layer(weights(3), bias(3), decoded_[0], residual_[1]);
  decoded_[1] = decoded_[0] + residual_[1];
  scores = (weights(4) * decoded_[1]).transpose();
  scores.array() += bias(4)[0];
}

void MlpNetwork::backward(const RowBatch& batch, const Vector& score_gradient) {
  weight_gradient(4).noalias() = (decoded_[1] * score_gradient).transpose();
  bias_gradient(4)[0] = score_gradient.sum();
  Matrix program_gradient = weights(4).transpose() * score_gradient.transpose();
  for (int i = 3; i >= 2; --i) {
    Matrix inner = program_gradient;
    close_gradient(residual_[i - 2], inner);
    const Matrix& inputs = i == 3 ? decoded_[0] : summed_;
    set_product_transposed(weight_gradient(i), inner, inputs);
    bias_gradient(i) = inner.rowwise().sum();
    add_transposed_product(program_gradient, weights(i), inner);
  }
  Matrix row_gradient(num_hidden_, batch.inputs.cols());
  for (std::size_t p = 0; p < batch.num_programs(); ++p) {
    for (std::uint32_t r = batch.first_row[p]; r < batch.first_row[p + 1]; ++r) {
      row_gradient.col(r) = program_gradient.col(static_cast<Eigen::Index>(p));
    }
  }
  close_gradient(row_encoded_, row_gradient);
  set_product_transposed(weight_gradient(1), row_gradient, row_hidden_);
  bias_gradient(1) = row_gradient.rowwise().sum();
  Matrix hidden_gradient = Matrix::Zero(num_hidden_, batch.inputs.cols());
  add_transposed_product(hidden_gradient, weights(1), row_gradient);
  close_gradient(row_hidden_, hidden_gradient);
  set_product_transposed(weight_gradient(0), hidden_gradient, batch.inputs);
  bias_gradient(0) = hidden_gradient.rowwise().sum();
}

void MlpNetwork::reset_optimizer() {
  first_moment_.assign(parameters_.size(), 0.0F);
  second_moment_.assign(parameters_.size(), 0.0F);
  num_steps_ = 0;
}

void MlpNetwork::step(float learning_rate, float weight_decay, float max_gradient_norm) {
  const Eigen::Index size = static_cast<Eigen::Index>(parameters_.size());
  Eigen::Map<Eigen::ArrayXf> gradient(gradient_.data(), size);
  const float norm = std::sqrt(gradient.square().sum());
  if (!std::isfinite(norm)) {
    return;
  }
  if (norm > max_gradient_norm) {
    gradient *= max_gradient_norm / norm;
  }
  ++num_steps_;
  const double t = static_cast<double>(num_steps_);
  AdamStep adam;
  adam.first_decay = first_decay;
  adam.second_decay = second_decay;
  adam.first_scale = static_cast<float>(1.0 / (1.0 - std::pow(first_decay, t)));
  adam.second_scale = static_cast<float>(1.0 / (1.0 - std::pow(second_decay, t)));
  adam.learning_rate = learning_rate;
  adam.weight_decay = weight_decay;
  products().adam(adam, parameters_.data(), gradient_.data(), first_moment_.data(),
                  second_moment_.data(), parameters_.size());
}

}  // namespace tensorsmith::mlp_detail
