// SPDX-License-Identifier: Apache-2.0
// Workloads made of maxima and minima, and inputs that are hard for them: infinities, NaN, the ends
// of integers, rows of nothing else.
//
// Test support.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::test {

inline std::vector<std::string> extreme_workloads() {
  std::vector<std::string> texts;
  for (const char* text :
       {"reduce_max:9x35", "reduce_min:5x70:f16", "argmax:6x33", "argmax:4x20:bf16",
        "max_pool:n=1,c=3,h=9,w=9,k=3,s=2,p=1", "max_pool:n=1,c=4,h=7,w=5,k=3,s=1,p=1,layout=nchw",
        "pointwise:7x9:f32,max,relu", "pointwise:5x8:f16,min,relu", "gemm:5x12x3:f32,bias,relu",
        "conv2d:n=1,h=6,w=6,ci=3,co=4,k=1,relu,max_pool=2"}) {
    texts.emplace_back(text);
    texts.push_back(std::string(text) + ",nan=propagate");
  }
  for (const char* text :
       {"reduce_max:5x40:i8", "reduce_min:5x40:u8", "reduce_max:3x33:i32", "reduce_min:3x20:i64",
        "argmax:5x40:i8", "max_pool:n=1,c=4,h=6,w=6,k=3,s=1,p=1,dtype=i8"}) {
    texts.emplace_back(text);
  }
  return texts;
}

/// A row along the last axis holds some of these values, the first rows one only.
inline HostArray extreme_array(const TensorInfo& info, std::uint32_t stream) {
  HostArray array(info.dtype, {info.shape.begin(), info.shape.end()});
  const std::int64_t columns = array.shape.empty() ? 1 : array.shape.back();
  constexpr std::uint64_t num_kinds = 6;
  for (std::int64_t n = 0; n < array.num_elements(); ++n) {
    const std::int64_t row = n / columns;
    CounterRng of_row(11, stream, static_cast<std::uint32_t>(row));
    const std::uint64_t allowed =
        row < 3 ? 1U << row : 1 + of_row.next_below((1U << num_kinds) - 1);
    CounterRng rng(12, stream, static_cast<std::uint32_t>(n));
    std::uint64_t kind = rng.next_below(num_kinds);
    while ((allowed >> kind & 1U) == 0) {
      kind = (kind + 1) % num_kinds;
    }
    if (is_float(info.dtype)) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      const double values[num_kinds] = {
          -infinity, std::numeric_limits<double>::quiet_NaN(), infinity, -3, 2, 0.5};
      array.set_real(n, values[kind]);
    } else {
      const IntegerLimits range = limits_of(info.dtype);
      const std::int64_t values[num_kinds] = {range.low,      range.high, range.low + 1,
                                              range.high - 1, 1,          2};
      array.set_int(n, values[kind]);
    }
  }
  return array;
}

/// Of every argument; what is written is zero.
inline std::vector<HostArray> extreme_arguments(const ComputeDag& dag) {
  std::vector<HostArray> arrays;
  for (const TensorId id : dag.arguments()) {
    const TensorInfo& info = dag.tensor(id);
    arrays.push_back(dag.operation(info.operation).is_placeholder()
                         ? extreme_array(info, static_cast<std::uint32_t>(arrays.size()))
                         : HostArray(info.dtype, {info.shape.begin(), info.shape.end()}));
  }
  return arrays;
}

/// "" if two arrays hold the same numbers, NaN where NaN is; else the first difference.
inline std::string unequal(const HostArray& got, const HostArray& want) {
  for (std::int64_t n = 0; n < want.num_elements(); ++n) {
    const double x = got.get_real(n), y = want.get_real(n);
    if (!(x == y || (x != x && y != y))) {
      return "element " + std::to_string(n) + " is " + std::to_string(x) + ", not " +
             std::to_string(y);
    }
  }
  return "";
}

}  // namespace tensorsmith::test
