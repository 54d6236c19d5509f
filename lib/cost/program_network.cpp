// SPDX-License-Identifier: Apache-2.0
#include "program_network.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "mlp_products.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::program_network {
namespace {

using mlp_detail::products;

constexpr float norm_epsilon = 1e-5F, norm_momentum = 0.1F;

/// Zeroes the slope where the rectifier was closed.
void close_slope(const Matrix& activated, Matrix& slope) {
  slope = (activated.array() > 0.0F).select(slope, 0.0F);
}

/// In f64: a row that hardly varies is divided by next to nothing.
Vector row_sums(const Matrix& values) {
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(values.rows());
  for (Eigen::Index c = 0; c < values.cols(); ++c) {
    sums += values.col(c).cast<double>();
  }
  return sums.cast<float>();
}

void write_uniform(CounterRng& rng, float bound, std::span<float> values) {
  for (float& value : values) {
    value = static_cast<float>((2.0 * rng.next_double() - 1.0) * bound);
  }
}

}  // namespace

ProgramNetwork::ProgramNetwork(const NetworkShape& shape) : shape_(shape) {
  const std::uint32_t hidden = shape.num_hidden, flow = shape.flow_hidden;
  add_layer(code_0, "segment_encoder.0.weight", "segment_encoder.0.bias", hidden, shape.num_inputs);
  add_layer(code_1, "segment_encoder.2.weight", "segment_encoder.2.bias", hidden, hidden);
  if (shape.has_flow()) {
    TENSORSMITH_ASSERT(flow % shape.num_heads == 0 && flow % 2 == 0, "heads divide the width");
    norm_offset_ = parameters_.size();
    for (const char* name : {"norm.weight", "norm.bias"}) {
      tensors_.push_back({name, hidden, 1, parameters_.size(), true});
      parameters_.resize(parameters_.size() + hidden, 0.0F);
    }
    add_layer(fuse, "fuse.0.weight", "fuse.0.bias", hidden, hidden + flow);
  }
  add_layer(residual_0, "l0.0.weight", "l0.0.bias", hidden, hidden);
  add_layer(residual_1, "l1.0.weight", "l1.0.bias", hidden, hidden);
  if (shape.has_flow()) {
    add_layer(flow_0, "gemm_encoder.0.weight", "gemm_encoder.0.bias", flow / 2, shape.flow_inputs);
    add_layer(flow_1, "gemm_encoder.2.weight", "gemm_encoder.2.bias", flow, flow / 2);
    add_layer(query, "attention.in_proj_weight", "attention.in_proj_bias", 3 * flow, flow);
    add_layer(out, "attention.out_proj.weight", "attention.out_proj.bias", flow, flow);
    statistics_ = {Vector::Zero(hidden), Vector::Ones(hidden)};
  }
  add_layer(score, "decoder.weight", "decoder.bias", 1, hidden);
  gradient_.assign(parameters_.size(), 0.0F);
}

void ProgramNetwork::add_layer(Layer layer, const char* weight, const char* bias,
                               std::uint32_t outputs, std::uint32_t inputs) {
  offset_[layer] = parameters_.size();
  outputs_[layer] = outputs;
  inputs_[layer] = inputs;
  tensors_.push_back({weight, outputs, inputs, parameters_.size(), false});
  tensors_.push_back({bias, outputs, 1, parameters_.size() + tensors_.back().size(), true});
  parameters_.resize(parameters_.size() + std::size_t{outputs} * (inputs + 1), 0.0F);
}

void ProgramNetwork::initialize(std::uint64_t seed) {
  std::uint32_t stream = 0;
  float bound = 0;
  for (const ParameterTensor& tensor : tensors_) {
    CounterRng rng(seed, stream++);
    const std::span<float> values =
        std::span<float>(parameters_).subspan(tensor.offset, tensor.size());
    if (!tensor.is_vector) {  // a bias has the bound of its matrix
      bound = 1.0F / std::sqrt(static_cast<float>(tensor.num_inputs));
    }
    if (tensor.name.starts_with("norm.")) {
      std::fill(values.begin(), values.end(), tensor.name == "norm.weight" ? 1.0F : 0.0F);
    } else if (tensor.name == "attention.in_proj_weight") {
      const auto fans = static_cast<float>(tensor.num_inputs + tensor.num_outputs);
      write_uniform(rng, std::sqrt(6.0F / fans), values);
    } else if (tensor.name.starts_with("attention.") && tensor.is_vector) {
      std::fill(values.begin(), values.end(), 0.0F);
    } else {
      write_uniform(rng, bound, values);
    }
  }
  statistics_.mean.setZero();
  statistics_.variance.setOnes();
}

Eigen::Map<const Vector> ProgramNetwork::bias(Layer layer) const {
  return {weight(layer) + std::size_t{outputs_[layer]} * inputs_[layer], outputs_[layer]};
}

// Row by row, W is the matrix of columns W^T.
void ProgramNetwork::linear(Layer layer, const Matrix& inputs, Matrix& outputs,
                            bool is_rectified) const {
  outputs.resize(outputs_[layer], inputs.cols());
  outputs.colwise() = bias(layer);  // replicate() goes element by element
  products().add_atb(weight(layer), inputs.data(), outputs.data(), outputs_[layer], inputs_[layer],
                     inputs.cols());
  if (is_rectified) {
    outputs = outputs.cwiseMax(0.0F);
  }
}

void ProgramNetwork::linear_backward(Layer layer, const Matrix& inputs, const Matrix& slope,
                                     Matrix* of_inputs) {
  float* const of_weight = gradient_.data() + offset_[layer];
  products().set_abt(inputs.data(), slope.data(), of_weight, inputs_[layer], slope.cols(),
                     outputs_[layer]);
  Eigen::Map<Vector>(of_weight + std::size_t{outputs_[layer]} * inputs_[layer], outputs_[layer]) =
      slope.rowwise().sum();
  if (of_inputs != nullptr) {
    add_input_slope(layer, slope, *of_inputs);
  }
}

void ProgramNetwork::add_input_slope(Layer layer, const Matrix& slope, Matrix& of_inputs) const {
  Matrix more(of_inputs.rows(), of_inputs.cols());
  products().set_ab(weight(layer), slope.data(), more.data(), inputs_[layer], outputs_[layer],
                    slope.cols());
  of_inputs += more;
}

void ProgramNetwork::encode(const Matrix& inputs, Matrix& hidden, Matrix& encoded) const {
  linear(code_0, inputs, hidden, true);
  linear(code_1, hidden, encoded, true);
}

void ProgramNetwork::branch(const Matrix& flow, Matrix& result) const {
  Attention kept;
  attend(flow, kept, result);
}

void ProgramNetwork::attend(const Matrix& flow, Attention& kept, Matrix& result) const {
  const Eigen::Index width = shape_.flow_hidden, heads = shape_.num_heads, part = width / heads;
  const Eigen::Index programs = flow.cols() / flow_rows;
  const float scale = 1.0F / std::sqrt(static_cast<float>(part));
  linear(flow_0, flow, kept.hidden, true);
  linear(flow_1, kept.hidden, kept.encoded, true);
  linear(query, kept.encoded, kept.projected, false);
  kept.weights.resize(flow_rows, flow_rows * heads * programs);  // column: a query, rows: keys
  kept.context.resize(width, flow.cols());
  for (Eigen::Index p = 0; p < programs; ++p) {
    for (Eigen::Index h = 0; h < heads; ++h) {
      const auto queries = kept.projected.block(h * part, p * flow_rows, part, flow_rows);
      const auto keys = kept.projected.block(width + h * part, p * flow_rows, part, flow_rows);
      const auto values =
          kept.projected.block(2 * width + h * part, p * flow_rows, part, flow_rows);
      auto weights = kept.weights.middleCols((p * heads + h) * flow_rows, flow_rows);
      weights.noalias() = scale * (keys.transpose() * queries);
      for (Eigen::Index q = 0; q < flow_rows; ++q) {
        auto column = weights.col(q);
        column = (column.array() - column.maxCoeff()).exp();
        column /= column.sum();
      }
      kept.context.block(h * part, p * flow_rows, part, flow_rows).noalias() = values * weights;
    }
  }
  Matrix attended;
  linear(out, kept.context, attended, false);
  attended += kept.encoded;
  result.resize(width, programs);
  for (Eigen::Index p = 0; p < programs; ++p) {
    result.col(p) = attended.middleCols(p * flow_rows, flow_rows).rowwise().sum();
  }
}

void ProgramNetwork::attend_backward(const Matrix& flow, const Matrix& result_slope) {
  const Eigen::Index width = shape_.flow_hidden, heads = shape_.num_heads, part = width / heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(part));
  const Attention& kept = attention_;
  Matrix slope(width, flow.cols());
  for (Eigen::Index p = 0; p < result_slope.cols(); ++p) {
    slope.middleCols(p * flow_rows, flow_rows).colwise() = result_slope.col(p);
  }
  Matrix of_encoded = slope, of_context = Matrix::Zero(width, flow.cols());
  linear_backward(out, kept.context, slope, &of_context);
  Matrix of_projected(3 * width, flow.cols());
  for (Eigen::Index p = 0; p < result_slope.cols(); ++p) {
    for (Eigen::Index h = 0; h < heads; ++h) {
      const Eigen::Index at = p * flow_rows;
      const auto queries = kept.projected.block(h * part, at, part, flow_rows);
      const auto keys = kept.projected.block(width + h * part, at, part, flow_rows);
      const auto values = kept.projected.block(2 * width + h * part, at, part, flow_rows);
      const auto weights = kept.weights.middleCols((p * heads + h) * flow_rows, flow_rows);
      const auto outer = of_context.block(h * part, at, part, flow_rows);
      Matrix inner = values.transpose() * outer;
      for (Eigen::Index q = 0; q < flow_rows; ++q) {
        const float mean = inner.col(q).dot(weights.col(q));
        inner.col(q) = scale * weights.col(q).array() * (inner.col(q).array() - mean);
      }
      of_projected.block(h * part, at, part, flow_rows).noalias() = keys * inner;
      of_projected.block(width + h * part, at, part, flow_rows).noalias() =
          queries * inner.transpose();
      of_projected.block(2 * width + h * part, at, part, flow_rows).noalias() =
          outer * weights.transpose();
    }
  }
  linear_backward(query, kept.encoded, of_projected, &of_encoded);
  close_slope(kept.encoded, of_encoded);
  Matrix of_hidden = Matrix::Zero(kept.hidden.rows(), flow.cols());
  linear_backward(flow_1, kept.hidden, of_encoded, &of_hidden);
  close_slope(kept.hidden, of_hidden);
  linear_backward(flow_0, flow, of_hidden, nullptr);
}

void ProgramNetwork::sum_rows(const ProgramBatch& batch, const Matrix& encoded,
                              Matrix& sums) const {
  sums.setZero(encoded.rows(), batch.num_programs());
  for (Eigen::Index p = 0; p < batch.num_programs(); ++p) {
    const auto at = static_cast<std::size_t>(p);
    for (std::uint32_t r = batch.first_row[at]; r < batch.first_row[at + 1]; ++r) {
      sums.col(p) += encoded.col(r);
    }
  }
}

void ProgramNetwork::normalize(const Matrix& inputs, const NormStatistics& statistics,
                               Matrix& outputs) const {
  const Eigen::Map<const Vector> scale(parameters_.data() + norm_offset_, inputs.rows());
  const Eigen::Map<const Vector> shift(parameters_.data() + norm_offset_ + inputs.rows(),
                                       inputs.rows());
  const Vector factor = scale.array() / (statistics.variance.array() + norm_epsilon).sqrt();
  outputs = ((inputs.colwise() - statistics.mean).array().colwise() * factor.array()).matrix();
  outputs.colwise() += shift;
}

void ProgramNetwork::head(const Matrix& normed, Vector& scores) const {
  Matrix sums = normed, hidden;
  for (const Layer layer : {residual_0, residual_1}) {
    linear(layer, sums, hidden, true);
    sums += hidden;
  }
  // Column by column: a matrix-vector product could sum in another order at the edge of a block.
  const Eigen::Map<const Vector> last(weight(score), shape_.num_hidden);
  scores.resize(sums.cols());
  for (Eigen::Index p = 0; p < sums.cols(); ++p) {
    scores[p] = last.dot(sums.col(p)) + bias(score)[0];
  }
}

void ProgramNetwork::decode(const Matrix& sums, const Matrix& branch, Vector& scores) const {
  if (!shape_.has_flow()) {
    return head(sums, scores);
  }
  Matrix joined(sums.rows() + branch.rows(), sums.cols()), fused, normed;
  joined << sums, branch;
  linear(fuse, joined, fused, true);
  normalize(fused, statistics_, normed);
  head(normed, scores);
}

Matrix ProgramNetwork::fused(const ProgramBatch& batch) const {
  Matrix hidden, encoded, sums, flow, result;
  encode(batch.inputs, hidden, encoded);
  sum_rows(batch, encoded, sums);
  if (!shape_.has_flow()) {
    return sums;
  }
  branch(batch.flow, flow);
  Matrix joined(sums.rows() + flow.rows(), sums.cols());
  joined << sums, flow;
  linear(fuse, joined, result, true);
  return result;
}

void ProgramNetwork::evaluate(const ProgramBatch& batch, const NormStatistics* statistics,
                              Vector& scores) const {
  Matrix values = fused(batch), normed;
  if (shape_.has_flow()) {
    normalize(values, statistics != nullptr ? *statistics : row_statistics(values), normed);
    values = std::move(normed);
  }
  head(values, scores);
}

NormStatistics ProgramNetwork::statistics_of(const ProgramBatch& batch) const {
  return row_statistics(fused(batch));
}

void ProgramNetwork::forward(const ProgramBatch& batch, Vector& scores) {
  encode(batch.inputs, hidden_, encoded_);
  Matrix sums;
  sum_rows(batch, encoded_, sums);
  if (shape_.has_flow()) {
    Matrix flow;
    attend(batch.flow, attention_, flow);
    joined_.resize(sums.rows() + flow.rows(), sums.cols());
    joined_ << sums, flow;
    linear(fuse, joined_, fused_, true);
    const NormStatistics now = row_statistics(fused_);
    const auto n = static_cast<float>(batch.num_programs());
    statistics_.mean += norm_momentum * (now.mean - statistics_.mean);
    statistics_.variance +=
        norm_momentum * (now.variance * (n > 1 ? n / (n - 1) : 1.0F) - statistics_.variance);
    inverse_deviation_ = (now.variance.array() + norm_epsilon).rsqrt();
    centred_ =
        ((fused_.colwise() - now.mean).array().colwise() * inverse_deviation_.array()).matrix();
    normalize(fused_, now, normed_);
  } else {
    normed_ = std::move(sums);
  }
  linear(residual_0, normed_, residual_[0], true);
  middle_ = normed_ + residual_[0];
  linear(residual_1, middle_, residual_[1], true);
  last_ = middle_ + residual_[1];
  const Eigen::Map<const Vector> weights(weight(score), shape_.num_hidden);
  scores = last_.transpose() * weights;
  scores.array() += bias(score)[0];
}

void ProgramNetwork::backward(const ProgramBatch& batch, const Vector& score_gradient) {
  const Eigen::Index hidden = shape_.num_hidden;
  Matrix slope = Matrix::Zero(hidden, batch.num_programs());
  const Matrix at_scores = score_gradient.transpose();
  linear_backward(score, last_, at_scores, &slope);
  for (const auto& [layer, inputs, activated] :
       {std::tuple<Layer, const Matrix*, const Matrix*>{residual_1, &middle_, &residual_[1]},
        {residual_0, &normed_, &residual_[0]}}) {
    Matrix inner = slope;
    close_slope(*activated, inner);
    linear_backward(layer, *inputs, inner, &slope);
  }
  if (shape_.has_flow()) {
    Eigen::Map<Vector> of_scale(gradient_.data() + norm_offset_, hidden);
    Eigen::Map<Vector> of_shift(gradient_.data() + norm_offset_ + hidden, hidden);
    of_scale = row_sums(slope.cwiseProduct(centred_));
    of_shift = row_sums(slope);
    const Eigen::Map<const Vector> scale(parameters_.data() + norm_offset_, hidden);
    const Vector factor = scale.array() * inverse_deviation_.array();
    const float n = static_cast<float>(batch.num_programs());
    Matrix of_fused = slope.colwise() - Vector(of_shift / n);
    of_fused -= (centred_.array().colwise() * (of_scale / n).array()).matrix();
    of_fused = (of_fused.array().colwise() * factor.array()).matrix();
    close_slope(fused_, of_fused);
    Matrix of_joined = Matrix::Zero(joined_.rows(), joined_.cols());
    linear_backward(fuse, joined_, of_fused, &of_joined);
    slope = of_joined.topRows(hidden);
    attend_backward(batch.flow, of_joined.bottomRows(shape_.flow_hidden));
  }
  Matrix of_rows(hidden, batch.inputs.cols());
  for (Eigen::Index p = 0; p < batch.num_programs(); ++p) {
    const auto at = static_cast<std::size_t>(p);
    for (std::uint32_t r = batch.first_row[at]; r < batch.first_row[at + 1]; ++r) {
      of_rows.col(r) = slope.col(p);
    }
  }
  close_slope(encoded_, of_rows);
  Matrix of_hidden = Matrix::Zero(hidden, batch.inputs.cols());
  linear_backward(code_1, hidden_, of_rows, &of_hidden);
  close_slope(hidden_, of_hidden);
  linear_backward(code_0, batch.inputs, of_hidden, nullptr);
}

Matrix ProgramNetwork::input_gradient(const Matrix& inputs,
                                      std::span<const std::uint32_t> first_row) const {
  TENSORSMITH_ASSERT(!shape_.has_flow(), "of rows alone");
  const auto num_programs = static_cast<Eigen::Index>(first_row.size()) - 1;
  Matrix hidden, encoded, residual[2];
  encode(inputs, hidden, encoded);
  Matrix decoded = Matrix::Zero(shape_.num_hidden, num_programs);
  for (Eigen::Index p = 0; p < num_programs; ++p) {
    for (std::uint32_t row = first_row[p]; row < first_row[p + 1]; ++row) {
      decoded.col(p) += encoded.col(row);
    }
  }
  for (const int i : {0, 1}) {
    linear(i == 0 ? residual_0 : residual_1, decoded, residual[i], true);
    decoded += residual[i];
  }
  Matrix slope(shape_.num_hidden, num_programs);
  slope.colwise() = Eigen::Map<const Vector>(weight(score), shape_.num_hidden);
  for (const int i : {1, 0}) {
    Matrix inner = slope;
    close_slope(residual[i], inner);
    add_input_slope(i == 0 ? residual_0 : residual_1, inner, slope);
  }
  Matrix of_rows(slope.rows(), inputs.cols());
  for (Eigen::Index p = 0; p < num_programs; ++p) {
    for (std::uint32_t row = first_row[p]; row < first_row[p + 1]; ++row) {
      of_rows.col(row) = slope.col(p);
    }
  }
  close_slope(encoded, of_rows);
  Matrix of_hidden = Matrix::Zero(shape_.num_hidden, inputs.cols());
  add_input_slope(code_1, of_rows, of_hidden);
  close_slope(hidden, of_hidden);
  Matrix gradient = Matrix::Zero(inputs.rows(), inputs.cols());
  add_input_slope(code_0, of_hidden, gradient);
  return gradient;
}

NormStatistics row_statistics(const Matrix& values) {
  NormStatistics statistics;
  const auto n = static_cast<float>(values.cols());
  statistics.mean = row_sums(values) / n;
  statistics.variance =
      row_sums((values.colwise() - statistics.mean).array().square().matrix()) / n;
  return statistics;
}

void Adam::step(std::span<float> parameters, std::span<float> gradient, float learning_rate,
                float weight_decay) {
  first_.resize(parameters.size(), 0.0F);
  second_.resize(parameters.size(), 0.0F);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    gradient[i] += weight_decay * parameters[i];
  }
  ++num_steps_;
  mlp_detail::AdamStep adam{};
  adam.first_decay = 0.9F;
  adam.second_decay = 0.999F;
  adam.first_scale = static_cast<float>(1.0 / (1.0 - std::pow(0.9, num_steps_)));
  adam.second_scale = static_cast<float>(1.0 / (1.0 - std::pow(0.999, num_steps_)));
  adam.learning_rate = learning_rate;
  products().adam(adam, parameters.data(), gradient.data(), first_.data(), second_.data(),
                  parameters.size());
}

float clip_gradient(std::span<float> gradient, float most) {
  double sum = 0;
  for (const float value : gradient) {
    sum += static_cast<double>(value) * value;
  }
  const auto norm = static_cast<float>(std::sqrt(sum));
  if (norm > most) {
    const float factor = most / (norm + 1e-6F);
    for (float& value : gradient) {
      value *= factor;
    }
  }
  return norm;
}

}  // namespace tensorsmith::program_network
