// SPDX-License-Identifier: Apache-2.0
#include "bench/support/shapes.hpp"

#include <algorithm>
#include <array>

#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith::bench {
namespace {

std::int64_t product(const std::array<std::int64_t, 3>& extents, int rank) {
  std::int64_t result = 1;
  for (int axis = 0; axis < rank; ++axis)
    result *= extents[static_cast<std::size_t>(axis)];
  return result;
}

/// The share of the taps along one axis that see an element: of the input, or of the output of a
/// transposed convolution, whose nominal operations start from the input.
double share_inside(const ConvShape& s, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t from = s.transposed ? s.spatial[a] : s.out_spatial(axis);
  const std::int64_t extent = s.transposed ? s.out_spatial(axis) : s.spatial[a];
  std::int64_t inside = 0;
  for (std::int64_t at = 0; at < from; ++at) {
    for (std::int64_t tap = 0; tap < s.kernel[a]; ++tap) {
      const std::int64_t seen = at * s.stride[a] - s.pad[a] + tap * s.dilation[a];
      inside += seen >= 0 && seen < extent ? 1 : 0;
    }
  }
  return static_cast<double>(inside) / static_cast<double>(from * s.kernel[a]);
}

void add_types(const ElementTypes& types, std::int64_t columns, ProblemSizes& sizes) {
  sizes.types = types;
  sizes.scales = is_byte(types.output) ? columns : 0;
  sizes.zero_point = is_byte(types.output) ? 1 : 0;
}

ProblemSizes conv_sizes(const ConvShape& s) {
  ProblemSizes sizes;
  std::int64_t out_points = 1;
  for (int axis = 0; axis < s.rank; ++axis)
    out_points *= s.out_spatial(axis);
  const std::int64_t in_points = product(s.spatial, s.rank);
  const std::int64_t taps = product(s.kernel, s.rank);
  sizes.input = s.n * s.ci * in_points;
  sizes.weights = s.co * (s.ci / s.groups) * taps;
  sizes.bias = s.bias ? s.co : 0;
  sizes.output = s.n * s.co * out_points;
  sizes.residual = s.add ? sizes.output : 0;
  sizes.reduction_length = (s.ci / s.groups) * taps;
  sizes.rounding = s.rounding;
  sizes.flop = s.transposed ? 2.0 * static_cast<double>(sizes.input * (s.co / s.groups) * taps)
                            : 2.0 * static_cast<double>(sizes.output * sizes.reduction_length);
  sizes.least_flop = sizes.flop;
  for (int axis = 0; axis < s.rank; ++axis)
    sizes.least_flop *= share_inside(s, axis);
  if (s.rounding > 1)
    sizes.least_flop /= 4;  // F(4 x 4, 3 x 3), the largest tiles that there are
  add_types(s.types, s.co, sizes);
  return sizes;
}

ProblemSizes row_sizes(std::int64_t rows, std::int64_t columns, double flop_per_element) {
  ProblemSizes sizes;
  sizes.input = rows * columns;
  sizes.output = rows * columns;
  sizes.reduction_length = columns;
  sizes.flop = flop_per_element * static_cast<double>(sizes.input);
  sizes.least_flop = sizes.flop;
  return sizes;
}

ProblemSizes softmax_sizes(const SoftmaxShape& s) {
  // maximum, subtract, exp, sum, scale; of the logarithm: subtract twice in place of scale
  return row_sizes(s.rows, s.columns, s.is_log ? 6 : 5);
}

ProblemSizes chain_sizes(const PointwiseShape& s) {
  ProblemSizes sizes = row_sizes(s.rows, s.columns, static_cast<double>(s.chain.size()));
  sizes.reduction_length = 1;
  sizes.rounding = static_cast<double>(std::max<std::size_t>(s.chain.size(), 1));  // of every step
  for (const PointwiseStep& step : s.chain) {
    if (is_binary(step.op))
      sizes.operands.push_back(s.operand_size(step));
  }
  return sizes;
}

}  // namespace

ProblemSizes sizes_of(const Problem& problem) {
  return std::visit(Overloaded{
                        [](const GemmShape& s) {
                          ProblemSizes sizes;
                          sizes.input = s.batch * s.m * s.k;
                          sizes.weights = s.batch * s.k * s.n;
                          sizes.bias = s.bias ? s.n : 0;
                          sizes.output = s.batch * s.m * s.n;
                          sizes.residual = s.add ? sizes.output : 0;
                          sizes.gamma = s.layernorm ? s.n : 0;
                          sizes.beta = sizes.gamma;
                          sizes.reduction_length = s.layernorm ? std::max(s.n, s.k) : s.k;
                          sizes.flop = 2.0 * static_cast<double>(sizes.output * s.k);
                          sizes.least_flop = sizes.flop;
                          add_types(s.types, s.n, sizes);
                          return sizes;
                        },
                        [](const ConvShape& s) { return conv_sizes(s); },
                        [](const SoftmaxShape& s) { return softmax_sizes(s); },
                        // sum, centre, square, sum, scale, gamma, beta
                        [](const LayernormShape& s) {
                          ProblemSizes sizes = row_sizes(s.rows, s.columns, 7);
                          sizes.weights = s.columns;
                          sizes.bias = s.columns;
                          return sizes;
                        },
                        [](const ReduceShape& s) {
                          ProblemSizes sizes = row_sizes(s.rows, s.columns, 1);
                          sizes.output = s.rows;
                          return sizes;
                        },
                        [](const PoolShape& s) {
                          ProblemSizes sizes;
                          sizes.input = s.n * s.c * s.spatial[0] * s.spatial[1];
                          sizes.output = s.n * s.c * s.out_spatial(0) * s.out_spatial(1);
                          sizes.reduction_length = s.kernel[0] * s.kernel[1];
                          sizes.flop = static_cast<double>(sizes.output * sizes.reduction_length);
                          // At least every element of the input, where windows do not overlap.
                          sizes.least_flop = static_cast<double>(sizes.output);
                          return sizes;
                        },
                        [](const ConvPoolShape& s) {
                          ProblemSizes sizes = conv_sizes(s.conv);
                          sizes.output =
                              s.pool.n * s.pool.c * s.pool.out_spatial(0) * s.pool.out_spatial(1);
                          return sizes;
                        },
                        [](const ConvDepthwiseShape& s) {
                          ProblemSizes sizes = conv_sizes(s.conv);
                          const ProblemSizes next = conv_sizes(s.depthwise);
                          sizes.next_weights = next.weights;
                          sizes.next_bias = next.bias;
                          sizes.output = next.output;
                          sizes.reduction_length += next.reduction_length;
                          sizes.flop += next.flop;
                          sizes.least_flop += next.least_flop;
                          return sizes;
                        },
                        [](const AttentionShape& s) {
                          ProblemSizes sizes;
                          sizes.input = s.batch * s.queries * s.width;
                          sizes.weights = s.batch * s.keys * s.width;
                          sizes.values = sizes.weights;
                          sizes.output = sizes.input;
                          sizes.reduction_length = std::max(s.keys, s.width);
                          sizes.flop = 4.0 * static_cast<double>(sizes.input * s.keys);
                          sizes.least_flop = sizes.flop;
                          return sizes;
                        },
                        [](const PointwiseShape& s) { return chain_sizes(s); },
                    },
                    problem);
}

std::optional<std::size_t> residual_of(const Problem& problem) {
  if (const PointwiseShape* shape = std::get_if<PointwiseShape>(&problem)) {
    std::size_t operand = 1;
    for (const PointwiseStep& step : shape->chain) {
      if (step.op == PointwiseOp::add && step.broadcast == Broadcast::none) {
        return operand;
      }
      operand += is_binary(step.op) ? 1 : 0;
    }
    return std::nullopt;
  }
  const ProblemSizes sizes = sizes_of(problem);
  if (sizes.residual == 0 || sizes.residual != sizes.output) {
    return std::nullopt;
  }
  return (sizes.input > 0 ? 1U : 0U) + (sizes.weights > 0 ? 1U : 0U) + (sizes.bias > 0 ? 1U : 0U);
}

Buffers buffers_of(const ProblemSizes& sizes, const std::vector<float*>& inputs, float* output) {
  Buffers buffers;
  buffers.output = output;
  std::size_t next = 0;
  const auto take = [&](std::int64_t size, const float*& field) {
    if (size > 0 && next < inputs.size()) {
      field = inputs[next++];
    }
  };
  take(sizes.input, buffers.input);
  take(sizes.weights, buffers.weights);
  take(sizes.bias, buffers.bias);
  take(sizes.residual, buffers.residual);
  take(sizes.gamma, buffers.gamma);
  take(sizes.beta, buffers.beta);
  take(sizes.values, buffers.values);
  take(sizes.next_weights, buffers.next_weights);
  take(sizes.next_bias, buffers.next_bias);
  take(sizes.scales, buffers.scales);
  take(sizes.zero_point, buffers.zero_point);
  for (const std::int64_t size : sizes.operands) {
    const float* operand = nullptr;
    take(size, operand);
    buffers.operands.push_back(operand);
  }
  return buffers;
}

}  // namespace tensorsmith::bench
