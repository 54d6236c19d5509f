#include "bench/support/shapes.hpp"

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

/// Taps of one axis that fall into the input, of all output positions together.
std::int64_t taps_inside(const ConvShape& s, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  std::int64_t inside = 0;
  for (std::int64_t out = 0; out < s.out_spatial(axis); ++out) {
    for (std::int64_t tap = 0; tap < s.kernel[a]; ++tap) {
      const std::int64_t at = out * s.stride[a] + tap * s.dilation[a] - s.pad[a];
      inside += at >= 0 && at < s.spatial[a] ? 1 : 0;
    }
  }
  return inside;
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
  sizes.flop = s.transposed ? 2.0 * static_cast<double>(sizes.input * (s.co / s.groups) * taps)
                            : 2.0 * static_cast<double>(sizes.output * sizes.reduction_length);
  double share = 1;
  for (int axis = 0; axis < s.rank && !s.transposed; ++axis) {
    share *= static_cast<double>(taps_inside(s, axis)) /
             static_cast<double>(s.out_spatial(axis) * s.kernel[static_cast<std::size_t>(axis)]);
  }
  sizes.padding_flop = sizes.flop * (1 - share);
  return sizes;
}

ProblemSizes row_sizes(std::int64_t rows, std::int64_t columns, double flop_per_element) {
  ProblemSizes sizes;
  sizes.input = rows * columns;
  sizes.output = rows * columns;
  sizes.reduction_length = columns;
  sizes.flop = flop_per_element * static_cast<double>(sizes.input);
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
                          sizes.reduction_length = s.k;
                          sizes.flop = 2.0 * static_cast<double>(sizes.output * s.k);
                          return sizes;
                        },
                        [](const ConvShape& s) { return conv_sizes(s); },
                        // maximum, subtract, exp, sum, scale
                        [](const SoftmaxShape& s) { return row_sizes(s.rows, s.columns, 5); },
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
                          return sizes;
                        },
                    },
                    problem);
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
  return buffers;
}

}  // namespace tensorsmith::bench
