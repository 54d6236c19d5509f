// SPDX-License-Identifier: Apache-2.0
// The definitions of pointwise.hpp.
//
// Floor 3. Included by ops/pointwise.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/permuted_result.hpp"
#include "tensorsmith/ops/pointwise.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

/// Of a shape or of indices, those that an operand has.
template <class T>
std::vector<T> broadcast_axes(const std::vector<T>& all, Broadcast broadcast) {
  return broadcast == Broadcast::per_column ? std::vector<T>{all.back()}
         : broadcast == Broadcast::per_row  ? std::vector<T>(all.begin(), all.end() - 1)
                                            : all;
}

/// x of the chain; y is the operand of a binary operation.
inline te::Expr pointwise_value(PointwiseOp op, const te::Expr& x, const te::Expr& y,
                                bool propagates_nan) {
  return op == PointwiseOp::add       ? x + y
         : op == PointwiseOp::sub     ? x - y
         : op == PointwiseOp::mul     ? x * y
         : op == PointwiseOp::div     ? x / y
         : op == PointwiseOp::max     ? max(x, y, propagates_nan)
         : op == PointwiseOp::min     ? min(x, y, propagates_nan)
         : op == PointwiseOp::relu    ? relu(x, propagates_nan)
         : op == PointwiseOp::gelu    ? gelu(x)
         : op == PointwiseOp::sigmoid ? te::sigmoid(x)
         : op == PointwiseOp::tanh    ? te::tanh(x)
                                      : te::exp(x);
}

/// What is done to integers; a result that the type cannot hold wraps around.
constexpr bool takes_integers(PointwiseOp op) {
  return op == PointwiseOp::relu || (is_binary(op) && op != PointwiseOp::div);
}

/// Of a shape or of indices in the chain's order, those in the result's.
template <class T>
std::vector<T> permuted(const std::vector<T>& all, const std::vector<std::int64_t>& permutation) {
  std::vector<T> moved;
  for (std::int64_t axis : permutation) {
    moved.push_back(all[static_cast<std::size_t>(axis)]);
  }
  return permutation.empty() ? all : moved;
}
/// The other way.
template <class T>
std::vector<T> unpermuted(const std::vector<T>& moved,
                          const std::vector<std::int64_t>& permutation) {
  std::vector<T> all = moved;
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    all[static_cast<std::size_t>(permutation[d])] = moved[d];
  }
  return all;
}

inline void check_pointwise(const PointwiseParams& p) {
  if (p.chain.empty() && p.permutation.empty()) {
    misuse("pointwise", "at least one operation", "none");
  }
  bool is_for_floats = false;
  for (const PointwiseStep& step : p.chain) {
    is_for_floats = is_for_floats || !takes_integers(step.op);
  }
  if (p.dtype == DType::boolean || (is_for_floats && !is_float(p.dtype))) {
    misuse("pointwise", is_for_floats ? "a float type" : "a number type",
           std::string(name_of(p.dtype)));
  }
  if (!p.permutation.empty() &&
      (p.permutation.size() != p.shape.size() || !is_permutation(p.permutation))) {
    misuse("pointwise", "a permutation of the " + std::to_string(p.shape.size()) + " axes",
           times(p.permutation));
  }
}

}  // namespace detail

TENSORSMITH_INLINE Workload pointwise(const PointwiseParams& p) {
  detail::check_pointwise(p);
  bool has_extremum = false;
  for (const PointwiseStep& step : p.chain) {
    has_extremum = has_extremum || step.op == PointwiseOp::max || step.op == PointwiseOp::min ||
                   step.op == PointwiseOp::relu;
  }
  detail::check_nan("pointwise", p.propagates_nan, has_extremum, p.dtype);
  const std::vector<std::string> names{"i", "j", "k", "l", "m", "n", "o", "p"};
  if (p.shape.empty() || p.shape.size() > names.size()) {
    detail::misuse("pointwise", "1 to 8 dimensions", std::to_string(p.shape.size()));
  }
  te::Program program;
  const te::ComputeOptions options{
      {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(p.shape.size())}, {}, {}};
  const DType type = detail::accumulator_of(p.dtype);
  te::ComputeOptions of_result = options;
  of_result.axes = detail::permuted(options.axes, p.permutation);
  te::Tensor value = program.placeholder("A", p.shape, p.dtype);
  std::vector<te::Tensor> arguments{value};
  for (std::size_t step = 0; step < p.chain.size(); ++step) {
    const PointwiseStep& done = p.chain[step];
    const bool is_end = step + 1 == p.chain.size();
    const te::Tensor in = value;
    if (is_binary(done.op)) {
      const te::Shape shape = detail::broadcast_axes(p.shape, done.broadcast);
      const std::size_t inputs = arguments.size();
      arguments.push_back(
          program.placeholder(inputs == 1 ? "B" : "X" + std::to_string(inputs), shape, p.dtype));
    }
    const std::string name = step == 0 ? "C" : step == 1 ? "D" : "T" + std::to_string(step);
    value = program.compute(
        name, is_end ? detail::permuted(p.shape, p.permutation) : p.shape,
        [&](const std::vector<te::Expr>& place) {
          const std::vector<te::Expr> at =
              is_end ? detail::unpermuted(place, p.permutation) : place;
          const te::Expr x = te::cast(type, in.at(at));
          const te::Expr result = detail::pointwise_value(
              done.op, x,
              is_binary(done.op)
                  ? te::cast(type, arguments.back().at(detail::broadcast_axes(at, done.broadcast)))
                  : x,
              p.propagates_nan);
          return te::cast(is_end ? p.dtype : type, result);
        },
        is_end ? of_result : options);
  }
  if (p.chain.empty()) {
    const te::Tensor in = value;
    value = program.compute(
        "C", detail::permuted(p.shape, p.permutation),
        [&](const std::vector<te::Expr>& place) {
          return in.at(detail::unpermuted(place, p.permutation));
        },
        of_result);
  }
  arguments.push_back(value);
  Workload workload;
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.dag = program.dag(arguments);
  workload.nominal_flop = p.chain.empty() ? 1 : static_cast<double>(p.chain.size());
  for (std::int64_t extent : p.shape) {
    workload.nominal_flop *= static_cast<double>(extent);
  }
  return workload;
}

}  // namespace tensorsmith::ops
