// SPDX-License-Identifier: Apache-2.0
// Naive loops for the operators, written without any of the library's expressions, in f64.
//
// Test support. Convolutions are written as definitions say: the plain one gathers, the transposed
// one scatters, so the two share nothing with the formulas under test.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/ops/op.hpp"
#include "tensorsmith/te/eval_dag.hpp"

namespace tensorsmith::test {

using Values = std::vector<double>;

/// Small whole numbers that differ from place to place: sums of products are exact in f32.
inline double input_value(std::size_t argument, std::int64_t i) {
  const std::uint64_t h = (static_cast<std::uint64_t>(i) * 2654435761u + argument * 40503u) >> 7;
  return static_cast<double>(h % 9) - 4;
}

inline std::int64_t product(const std::vector<std::int64_t>& extents) {
  std::int64_t n = 1;
  for (std::int64_t extent : extents) {
    n *= extent;
  }
  return n;
}

/// Inputs as numbers and the interpreter's output.
struct Run {
  std::vector<Values> inputs;
  Values output;
  std::vector<std::int64_t> shape;
};
/// Values of f32 inputs are whole multiples of `unit`.
inline Run run(const ops::Workload& workload, double unit = 1) {
  const ComputeDag& dag = *workload.dag;
  std::vector<HostArray> arrays;
  Run result;
  for (std::size_t a = 0; a + 1 < dag.arguments().size(); ++a) {
    const TensorInfo& info = dag.tensor(dag.arguments()[a]);
    HostArray array(info.dtype, {info.shape.begin(), info.shape.end()});
    Values values;
    for (std::int64_t i = 0; i < array.num_elements(); ++i) {
      double value = input_value(a, i);
      value = info.dtype == DType::u8 ? value + 4 : value;
      value = info.dtype == DType::f32 ? value * unit : value;
      array.set_real(i, value);
      values.push_back(value);
    }
    arrays.push_back(std::move(array));
    result.inputs.push_back(std::move(values));
  }
  auto outputs = eval_dag(dag, arrays);
  REQUIRE(outputs.has_value());
  REQUIRE(outputs->size() == 1);
  const HostArray& out = outputs->front();
  result.shape = out.shape;
  for (std::int64_t i = 0; i < out.num_elements(); ++i) {
    result.output.push_back(out.get_real(i));
  }
  return result;
}

inline void check_equal(const Values& got, const Values& expected, double tolerance = 0) {
  REQUIRE(got.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool is_close = std::abs(got[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i]));
    if (!is_close && wrong++ == 0) {
      INFO("element " << i);
      CHECK(got[i] == expected[i]);
    }
  }
  CHECK(wrong == 0);
}

inline double activate(double x, ops::Activation activation) {
  switch (activation) {
  case ops::Activation::relu:
    return x > 0 ? x : 0;
  case ops::Activation::gelu:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  default:
    return x;
  }
}

/// Layernorm of rows as long as gamma, from the definition.
inline Values naive_layernorm(const Values& x, const Values& gamma, const Values& beta) {
  Values out;
  const std::size_t columns = gamma.size();
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      mean += x[row + c] / static_cast<double>(columns);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      variance += std::pow(x[row + c] - mean, 2) / static_cast<double>(columns);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      out.push_back((x[row + c] - mean) / std::sqrt(variance + 1e-5) * gamma[c] + beta[c]);
    }
  }
  return out;
}

/// Sums as 8-bit numbers; `column_of` of an element. The last two inputs are scales and zero point.
template <class ColumnOf>
void naive_requantize(Values& sums, ops::ByteType type, const std::vector<Values>& in,
                      ColumnOf column_of) {
  const double low = type == ops::ByteType::u8 ? 0 : -128, high = low + 255;
  const Values& scale = in[in.size() - 2];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double exact = sums[i] * scale[column_of(i)] + in.back()[0];
    sums[i] = std::fmin(std::fmax(std::nearbyint(exact), low), high);
  }
}

inline Values naive_gemm(const ops::GemmParams& p, const std::vector<Values>& in) {
  Values out;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const std::int64_t a_at = b * p.m * p.k + (p.transpose_a ? k * p.m + i : i * p.k + k);
          const std::int64_t b_at = b * p.n * p.k + (p.transpose_b ? j * p.k + k : k * p.n + j);
          sum += in[0][static_cast<std::size_t>(a_at)] * in[1][static_cast<std::size_t>(b_at)];
        }
        sum += p.bias ? in[2][static_cast<std::size_t>(j)] : 0;
        sum += p.add ? in[p.bias ? 3 : 2][out.size()] : 0;
        out.push_back(activate(sum, p.activation));
      }
    }
  }
  if (p.requant != ops::ByteType::none) {
    naive_requantize(out, p.requant, in,
                     [&](std::size_t i) { return i % static_cast<std::size_t>(p.n); });
  }
  return p.layernorm ? naive_layernorm(out, in[in.size() - 2], in[in.size() - 1]) : out;
}

/// Flat position in [n, c, spatial] or [n, spatial, c].
inline std::size_t activation_at(ops::Layout layout, const std::int64_t* extents,
                                 std::int64_t c_extent, std::int64_t n, std::int64_t c,
                                 const std::int64_t* at) {
  std::int64_t plane = 0, size = 1;
  for (int a = 0; a < 3; ++a) {
    plane = plane * extents[a] + at[a];
    size *= extents[a];
  }
  const std::int64_t flat = layout == ops::Layout::nhwc ? (n * size + plane) * c_extent + c
                                                        : (n * c_extent + c) * size + plane;
  return static_cast<std::size_t>(flat);
}

/// Unused leading or trailing spatial axes have extent, kernel and stride 1.
inline Values naive_conv(const ops::ConvParams& p, const std::vector<Values>& in) {
  std::int64_t out_extent[3];
  for (int a = 0; a < 3; ++a) {
    out_extent[a] = a < p.rank ? p.out_spatial(a) : 1;
  }
  const std::int64_t cig = p.ci / p.groups, cog = p.co / p.groups;
  const auto weight_at = [&](std::int64_t group, std::int64_t ci, std::int64_t co,
                             const std::int64_t* tap) {
    std::int64_t flat = 0, taps = 1;
    for (std::size_t a = 0; a < 3; ++a) {
      flat = flat * p.kernel[a] + tap[a];
      taps *= p.kernel[a];
    }
    const std::int64_t full_co = group * cog + co, full_ci = group * cig + ci;
    if (p.depthwise) {
      return p.layout == ops::Layout::nhwc ? flat * p.co + full_co : full_co * taps + flat;
    }
    if (p.layout == ops::Layout::nhwc) {
      return (flat * cig + ci) * p.co + full_co;
    }
    return p.transposed ? (full_ci * cog + co) * taps + flat : (full_co * cig + ci) * taps + flat;
  };
  Values out(static_cast<std::size_t>(p.n * p.co * out_extent[0] * out_extent[1] * out_extent[2]));
  const std::int64_t* driver = p.transposed ? p.spatial.data() : out_extent;
  const std::int64_t* other = p.transposed ? out_extent : p.spatial.data();
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t g = 0; g < p.groups; ++g) {
      for (std::int64_t co = 0; co < cog; ++co) {
        for (std::int64_t ci = 0; ci < cig; ++ci) {
          std::int64_t at[3], tap[3];
          for (at[0] = 0; at[0] < driver[0]; ++at[0]) {
            for (at[1] = 0; at[1] < driver[1]; ++at[1]) {
              for (at[2] = 0; at[2] < driver[2]; ++at[2]) {
                for (tap[0] = 0; tap[0] < p.kernel[0]; ++tap[0]) {
                  for (tap[1] = 0; tap[1] < p.kernel[1]; ++tap[1]) {
                    for (tap[2] = 0; tap[2] < p.kernel[2]; ++tap[2]) {
                      std::int64_t far[3];
                      bool is_inside = true;
                      for (std::size_t a = 0; a < 3; ++a) {
                        far[a] = at[a] * p.stride[a] + tap[a] * p.dilation[a] - p.pad[a];
                        is_inside = is_inside && far[a] >= 0 && far[a] < other[a];
                      }
                      if (!is_inside) {
                        continue;
                      }
                      const std::int64_t* x = p.transposed ? at : far;
                      const std::int64_t* y = p.transposed ? far : at;
                      out[activation_at(p.layout, out_extent, p.co, n, g * cog + co, y)] +=
                          in[0]
                            [activation_at(p.layout, p.spatial.data(), p.ci, n, g * cig + ci, x)] *
                          in[1][static_cast<std::size_t>(weight_at(g, ci, co, tap))];
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  std::int64_t plane = out_extent[0] * out_extent[1] * out_extent[2];
  const auto channel_of = [&](std::size_t i) {
    const std::int64_t flat = static_cast<std::int64_t>(i);
    return static_cast<std::size_t>(p.layout == ops::Layout::nhwc ? flat % p.co
                                                                  : flat / plane % p.co);
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] += p.bias ? in[2][channel_of(i)] : 0;
    out[i] += p.add ? in[p.bias ? 3 : 2][i] : 0;
    out[i] = activate(out[i], p.activation);
  }
  if (p.requant != ops::ByteType::none) {
    naive_requantize(out, p.requant, in, channel_of);
  }
  return out;
}

}  // namespace tensorsmith::test
