// SPDX-License-Identifier: Apache-2.0
#include "bench/support/reference.hpp"

#include <algorithm>
#include <cmath>

#include "tensorsmith/measure/tolerance.hpp"
#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith::bench {
namespace {

/// How many elements are compared; with a message if that is impossible.
VerifyResult counted(const std::vector<float>& got, const std::vector<double>& want,
                     const std::vector<std::int64_t>& indices, std::int64_t total) {
  VerifyResult result;
  result.checked = static_cast<std::int64_t>(got.size());
  result.total = total;
  if (got.empty() || got.size() != want.size() || got.size() != indices.size()) {
    result.message = "nothing to compare, or lists of different lengths";
  }
  return result;
}

double activate(double x, Activation activation) {
  switch (activation) {
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::gelu:
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  case Activation::none:
    break;
  }
  return x;
}

double softmax(const float* row, const SoftmaxShape& s, std::int64_t column) {
  double largest = row[0];
  for (std::int64_t c = 1; c < s.columns; ++c)
    largest = std::max(largest, double{row[c]});
  double sum = 0;
  for (std::int64_t c = 0; c < s.columns; ++c)
    sum += std::exp(row[c] - largest);
  return s.is_log ? row[column] - largest - std::log(sum) : std::exp(row[column] - largest) / sum;
}

double layernorm(const float* row, const LayernormShape& s, std::int64_t column, double gamma,
                 double beta) {
  double mean = 0;
  for (std::int64_t c = 0; c < s.columns; ++c)
    mean += row[c];
  mean /= static_cast<double>(s.columns);
  double variance = 0;
  for (std::int64_t c = 0; c < s.columns; ++c)
    variance += (row[c] - mean) * (row[c] - mean);
  variance /= static_cast<double>(s.columns);
  return (row[column] - mean) / std::sqrt(variance + double{s.epsilon}) * gamma + beta;
}

double pointwise(PointwiseOp op, double x, double y) {
  switch (op) {
  case PointwiseOp::add:
    return x + y;
  case PointwiseOp::sub:
    return x - y;
  case PointwiseOp::mul:
    return x * y;
  case PointwiseOp::div:
    return x / y;
  case PointwiseOp::max:
    return std::max(x, y);
  case PointwiseOp::min:
    return std::min(x, y);
  case PointwiseOp::relu:
    return activate(x, Activation::relu);
  case PointwiseOp::gelu:
    return activate(x, Activation::gelu);
  case PointwiseOp::sigmoid:
    return 1 / (1 + std::exp(-x));
  case PointwiseOp::tanh:
    return std::tanh(x);
  case PointwiseOp::exp:
    return std::exp(x);
  }
  return x;
}

double reduce(const float* row, const ReduceShape& s) {
  double result = row[0];
  for (std::int64_t c = 1; c < s.columns; ++c) {
    result = s.kind == ReduceKind::max ? std::max(result, double{row[c]}) : result + row[c];
  }
  return s.kind == ReduceKind::mean ? result / static_cast<double>(s.columns) : result;
}

}  // namespace

Reference::Reference(const Problem& problem, const Buffers& buffers)
    : problem_(problem), buffers_(buffers), sizes_(sizes_of(problem)) {}

double Reference::gemm(const GemmShape& s, std::int64_t flat) const {
  const std::int64_t n = flat % s.n;
  const std::int64_t m = flat / s.n % s.m;
  const std::int64_t b = flat / (s.n * s.m);
  const float* a = buffers_.input + b * s.m * s.k + (s.transpose_a ? m : m * s.k);
  const float* w = buffers_.weights + b * s.k * s.n + (s.transpose_b ? n * s.k : n);
  const std::int64_t a_step = s.transpose_a ? s.m : 1;
  const std::int64_t w_step = s.transpose_b ? 1 : s.n;
  double sum = s.bias ? double{buffers_.bias[n]} : 0.0;
  sum += s.add ? double{buffers_.residual[flat]} : 0.0;
  for (std::int64_t k = 0; k < s.k; ++k)
    sum += double{s.scale} * double{a[k * a_step]} * double{w[k * w_step]};
  return requantized(activate(sum, s.activation), s.types.output, n);
}

double Reference::requantized(double sum, Element type, std::int64_t column) const {
  if (!is_byte(type)) {
    return sum;
  }
  const double low = type == Element::u8 ? 0 : -128;
  const double value = sum * double{buffers_.scales[column]} + double{buffers_.zero_point[0]};
  return std::clamp(std::nearbyint(value), low, low + 255);
}

template <class Compute>
double Reference::of_row(std::int64_t flat, std::int64_t columns, const Compute& compute) const {
  if (row_ != flat / columns) {
    row_ = flat / columns;
    compute(row_);
  }
  return values_[static_cast<std::size_t>(flat % columns)];
}

void Reference::gemm_row(const GemmShape& s, std::int64_t row) const {
  const auto columns = static_cast<double>(s.n);
  values_.clear();
  double mean = 0;
  for (std::int64_t n = 0; n < s.n; ++n) {
    values_.push_back(gemm(s, row * s.n + n));
    mean += values_.back() / columns;
  }
  double variance = 0;
  for (const double value : values_)
    variance += (value - mean) * (value - mean) / columns;
  const double scale = 1 / std::sqrt(variance + double{LayernormShape{}.epsilon});
  for (std::int64_t n = 0; n < s.n; ++n) {
    double& value = values_[static_cast<std::size_t>(n)];
    value = (value - mean) * scale * double{buffers_.gamma[n]} + double{buffers_.beta[n]};
  }
}

void Reference::attention_row(const AttentionShape& s, std::int64_t row) const {
  const float* q = buffers_.input + row * s.width;
  const std::int64_t first = row / s.queries * s.keys * s.width;
  std::vector<double> weights;
  double largest = -INFINITY, sum = 0;
  for (std::int64_t n = 0; n < s.keys; ++n) {
    double product = 0;
    for (std::int64_t d = 0; d < s.width; ++d)
      product += double{q[d]} * double{buffers_.weights[first + n * s.width + d]};
    weights.push_back(product / std::sqrt(static_cast<double>(s.width)));
    largest = std::max(largest, weights.back());
  }
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    sum += weight;
  }
  values_.assign(static_cast<std::size_t>(s.width), 0.0);
  for (std::int64_t n = 0; n < s.keys; ++n) {
    for (std::int64_t d = 0; d < s.width; ++d) {
      values_[static_cast<std::size_t>(d)] += weights[static_cast<std::size_t>(n)] / sum *
                                              double{buffers_.values[first + n * s.width + d]};
    }
  }
}

template <class ValueAt>
double Reference::conv(const ConvShape& s, const float* weights, const float* bias,
                       std::int64_t flat, const ValueAt& value_at) const {
  const bool last = s.layout == ActivationLayout::nhwc;
  std::int64_t out[3] = {0, 0, 0};  // output position, missing axes at the front
  std::int64_t extent[3], kernel[3], stride[3], pad[3], dilation[3], out_extent[3];
  for (int axis = 0; axis < 3; ++axis) {
    const int source = axis - (3 - s.rank);
    const auto i = static_cast<std::size_t>(std::max(source, 0));
    extent[axis] = source < 0 ? 1 : s.spatial[i];
    kernel[axis] = source < 0 ? 1 : s.kernel[i];
    stride[axis] = source < 0 ? 1 : s.stride[i];
    pad[axis] = source < 0 ? 0 : s.pad[i];
    dilation[axis] = source < 0 ? 1 : s.dilation[i];
    out_extent[axis] = source < 0 ? 1 : s.out_spatial(source);
  }
  std::int64_t rest = flat;
  std::int64_t co = 0;
  if (last) {
    co = rest % s.co;
    rest /= s.co;
  }
  for (int axis = 2; axis >= 0; --axis) {
    out[axis] = rest % out_extent[axis];
    rest /= out_extent[axis];
  }
  if (!last) {
    co = rest % s.co;
    rest /= s.co;
  }
  const std::int64_t n = rest;
  const std::int64_t ci_group = s.ci / s.groups;
  const std::int64_t co_group = s.co / s.groups;
  const std::int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const std::int64_t points = extent[0] * extent[1] * extent[2];
  const std::int64_t first_ci = co / co_group * ci_group;

  // Input coordinate that tap `t` reads, or -1 outside (transposed: also between the strides).
  const auto source_of = [&](int axis, std::int64_t t) -> std::int64_t {
    if (!s.transposed) {
      const std::int64_t at = out[axis] * stride[axis] - pad[axis] + t * dilation[axis];
      return at >= 0 && at < extent[axis] ? at : -1;
    }
    const std::int64_t at = out[axis] + pad[axis] - t * dilation[axis];
    return at >= 0 && at % stride[axis] == 0 && at / stride[axis] < extent[axis] ? at / stride[axis]
                                                                                 : -1;
  };
  double sum = s.bias ? double{bias[co]} : 0.0;
  sum += s.add ? double{buffers_.residual[flat]} : 0.0;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t z = source_of(0, tap / (kernel[1] * kernel[2]));
    const std::int64_t y = source_of(1, tap / kernel[2] % kernel[1]);
    const std::int64_t x = source_of(2, tap % kernel[2]);
    if (z < 0 || y < 0 || x < 0) {
      continue;
    }
    const std::int64_t point = (z * extent[1] + y) * extent[2] + x;
    for (std::int64_t c = 0; c < ci_group; ++c) {
      const std::int64_t ci = first_ci + c;
      const std::int64_t input =
          last ? (n * points + point) * s.ci + ci : (n * s.ci + ci) * points + point;
      std::int64_t weight = 0;
      switch (s.weights) {
      case WeightLayout::oi_spatial:
        weight = (co * ci_group + c) * taps + tap;
        break;
      case WeightLayout::spatial_io:
        weight = (tap * ci_group + c) * s.co + co;
        break;
      case WeightLayout::io_spatial:
        weight = (ci * co_group + co % co_group) * taps + tap;
        break;
      }
      sum += value_at(input) * double{weights[weight]};
    }
  }
  return requantized(activate(sum, s.activation), s.types.output, co);
}

double Reference::chain(const PointwiseShape& s, std::int64_t flat) const {
  double x = buffers_.input[flat];
  std::size_t next = 0;
  for (const PointwiseStep& step : s.chain) {
    double y = 0;
    if (is_binary(step.op)) {
      const std::int64_t at = step.broadcast == Broadcast::per_column ? flat % s.columns
                              : step.broadcast == Broadcast::per_row  ? flat / s.columns
                                                                      : flat;
      y = buffers_.operands[next++][at];
    }
    x = pointwise(step.op, x, y);
  }
  return x;
}

template <class ValueAt>
double Reference::pool(const PoolShape& s, std::int64_t flat, const ValueAt& value_at) const {
  const bool last = s.layout == ActivationLayout::nhwc;
  const std::int64_t out_h = s.out_spatial(0);
  const std::int64_t out_w = s.out_spatial(1);
  const std::int64_t c = last ? flat % s.c : flat / (out_h * out_w) % s.c;
  const std::int64_t point = last ? flat / s.c % (out_h * out_w) : flat % (out_h * out_w);
  const std::int64_t n = flat / (s.c * out_h * out_w);
  double result = s.kind == PoolKind::max ? -INFINITY : 0.0;
  for (std::int64_t kh = 0; kh < s.kernel[0]; ++kh) {
    for (std::int64_t kw = 0; kw < s.kernel[1]; ++kw) {
      const std::int64_t h = point / out_w * s.stride[0] - s.pad[0] + kh;
      const std::int64_t w = point % out_w * s.stride[1] - s.pad[1] + kw;
      if (h < 0 || w < 0 || h >= s.spatial[0] || w >= s.spatial[1]) {
        continue;
      }
      const double value = value_at(last ? ((n * s.spatial[0] + h) * s.spatial[1] + w) * s.c + c
                                         : ((n * s.c + c) * s.spatial[0] + h) * s.spatial[1] + w);
      result = s.kind == PoolKind::max ? std::max(result, value) : result + value;
    }
  }
  const auto window = static_cast<double>(s.kernel[0] * s.kernel[1]);
  return s.kind == PoolKind::max ? result : result / window;
}

double Reference::conv(const ConvShape& s, std::int64_t flat) const {
  return conv(s, buffers_.weights, buffers_.bias, flat,
              [&](std::int64_t at) { return double{buffers_.input[at]}; });
}

double Reference::at(std::int64_t flat) const {
  return std::visit(
      Overloaded{
          [&](const GemmShape& s) {
            return s.layernorm ? of_row(flat, s.n, [&](std::int64_t row) { gemm_row(s, row); })
                               : gemm(s, flat);
          },
          [&](const AttentionShape& s) {
            return of_row(flat, s.width, [&](std::int64_t row) { attention_row(s, row); });
          },
          [&](const ConvShape& s) { return conv(s, flat); },
          [&](const PoolShape& s) {
            return pool(s, flat, [&](std::int64_t at) { return double{buffers_.input[at]}; });
          },
          [&](const ConvPoolShape& s) {
            return pool(s.pool, flat, [&](std::int64_t at) { return conv(s.conv, at); });
          },
          [&](const ConvDepthwiseShape& s) {
            return conv(s.depthwise, buffers_.next_weights, buffers_.next_bias, flat,
                        [&](std::int64_t at) { return conv(s.conv, at); });
          },
          [&](const SoftmaxShape& s) {
            return softmax(buffers_.input + flat / s.columns * s.columns, s, flat % s.columns);
          },
          [&](const LayernormShape& s) {
            const std::int64_t column = flat % s.columns;
            return layernorm(buffers_.input + flat / s.columns * s.columns, s, column,
                             buffers_.weights[column], buffers_.bias[column]);
          },
          [&](const PointwiseShape& s) { return chain(s, flat); },
          [&](const ReduceShape& s) { return reduce(buffers_.input + flat * s.columns, s); },
      },
      problem_);
}

VerifyResult compare(const std::vector<float>& got, const std::vector<double>& want,
                     const std::vector<std::int64_t>& indices, std::int64_t total,
                     std::int64_t reduction_length, double rounding) {
  VerifyResult result = counted(got, want, indices, total);
  if (!result.message.empty()) {
    return result;
  }
  double squares = 0;
  for (const double value : want)
    squares += value * value;
  const double rms = std::sqrt(squares / static_cast<double>(want.size()));
  const double relative = 8 * 0x1p-23 * rounding * std::sqrt(static_cast<double>(reduction_length));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(double{got[i]} - want[i]);
    if (!std::isfinite(error)) {
      result.worst_index = indices[i];
      result.message = "output " + std::to_string(indices[i]) + " is " + std::to_string(got[i]) +
                       ", expected " + std::to_string(want[i]);
      result.max_error = INFINITY;
      result.max_error_over_bound = INFINITY;
      return result;
    }
    const double bound = std::max(relative * std::max(std::abs(want[i]), rms), 1e-37);
    result.max_error = std::max(result.max_error, error);
    if (result.worst_index < 0 || error / bound > result.max_error_over_bound) {
      result.max_error_over_bound = error / bound;
      result.worst_index = indices[i];
      result.message = "output " + std::to_string(indices[i]) + " is " + std::to_string(got[i]) +
                       ", expected " + std::to_string(want[i]) + " within " + std::to_string(bound);
    }
  }
  result.ok = result.max_error_over_bound <= 1;
  if (result.ok) {
    result.message.clear();
  }
  return result;
}

VerifyResult compare_integers(const std::vector<float>& got, const std::vector<double>& want,
                              const std::vector<std::int64_t>& indices, std::int64_t total,
                              bool is_rounded) {
  VerifyResult result = counted(got, want, indices, total);
  if (!result.message.empty()) {
    return result;
  }
  std::size_t different = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(double{got[i]} - want[i]);
    different += error != 0 ? 1 : 0;
    if (result.worst_index < 0 || !(error <= result.max_error)) {
      result.worst_index = indices[i];
      result.max_error = std::isfinite(error) ? error : INFINITY;
    }
  }
  const bool is_near = is_rounded && different <= 1 + got.size() / OutputTolerance::rounded_share;
  result.max_error_over_bound = different == 0 ? 0 : is_near ? result.max_error : INFINITY;
  result.ok = result.max_error_over_bound <= 1;
  if (!result.ok) {
    result.message = std::to_string(different) + " outputs differ, the most by " +
                     std::to_string(result.max_error) + " at " + std::to_string(result.worst_index);
  }
  return result;
}

VerifyResult verify(const Problem& problem, const Buffers& buffers, const float* output,
                    double max_terms) {
  const Reference reference(problem, buffers);
  const std::int64_t total = reference.size();
  const auto per_output = static_cast<double>(reference.sizes().reduction_length);
  const auto affordable =
      static_cast<std::int64_t>(std::max(max_terms / std::max(per_output, 1.0), 64.0));
  const std::int64_t count = std::min(total, affordable);
  std::vector<float> got;
  std::vector<double> want;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) {
    // An even spread that keeps the first and the last element; every element when count == total.
    const auto index = static_cast<std::int64_t>(
        count < 2 ? 0.0
                  : std::floor(static_cast<double>(i) * static_cast<double>(total - 1) /
                                   static_cast<double>(count - 1) +
                               0.5));
    indices.push_back(index);
    got.push_back(output[index]);
    want.push_back(reference.at(index));
  }
  const Element type = reference.sizes().types.output;
  if (type != Element::f32) {
    return compare_integers(got, want, indices, total, is_byte(type));
  }
  return compare(got, want, indices, total, reference.sizes().reduction_length,
                 reference.sizes().rounding);
}

}  // namespace tensorsmith::bench
