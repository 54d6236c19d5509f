// Chains of pointwise operations, one stage each, whose operands may be broadcast.
//
// Floor 3. Own design; add + relu is the program of the Ansor reference. Inputs are called A, B,
// X2, X3, ..., stages C, D, T2, T3, ...
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

inline void check_pointwise(const PointwiseParams& p, std::size_t max_rank) {
  if (p.chain.empty()) {
    misuse("pointwise", "at least one operation", "none");
  }
  if (!is_float(p.dtype)) {
    misuse("pointwise", "a float type", std::string(name_of(p.dtype)));
  }
  if (p.shape.empty() || p.shape.size() > max_rank) {
    misuse("pointwise", "1 to " + std::to_string(max_rank) + " dimensions",
           std::to_string(p.shape.size()));
  }
  for (const PointwiseStep& step : p.chain) {
    if (step.broadcast != Broadcast::none && !is_binary(step.op)) {
      misuse("pointwise", "a broadcast of operations of two operands only", step_text(step));
    }
    if (step.broadcast == Broadcast::per_row && p.shape.size() < 2) {
      misuse("pointwise", "at least 2 dimensions with " + step_text(step), "1");
    }
  }
}

/// Of a shape or of indices, those that an operand has.
template <class T>
std::vector<T> broadcast_axes(const std::vector<T>& all, Broadcast broadcast) {
  switch (broadcast) {
  case Broadcast::per_column:
    return {all.back()};
  case Broadcast::per_row:
    return {all.begin(), all.end() - 1};
  case Broadcast::none:
    break;
  }
  return all;
}

/// x of the chain; y is the operand of a binary operation.
inline te::Expr pointwise_value(PointwiseOp op, const te::Expr& x, const te::Expr& y) {
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
    return te::max(x, y);
  case PointwiseOp::min:
    return te::min(x, y);
  case PointwiseOp::relu:
    return te::max(x, 0);
  case PointwiseOp::gelu:
    return gelu(x);
  case PointwiseOp::sigmoid:
    return te::sigmoid(x);
  case PointwiseOp::tanh:
    return te::tanh(x);
  case PointwiseOp::exp:
    return te::exp(x);
  }
  return x;
}

}  // namespace detail

/// out[...] of p.shape. Arguments: A of that shape, an operand per binary step, the result.
inline Workload pointwise(const PointwiseParams& p) {
  const std::vector<std::string> names{"i", "j", "k", "l", "m", "n", "o", "p"};
  detail::check_pointwise(p, names.size());
  te::Program program;
  const te::ComputeOptions options{
      {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(p.shape.size())}, {}, {}};
  te::Tensor value = program.placeholder("A", p.shape, p.dtype);
  std::vector<te::Tensor> arguments{value};
  for (std::size_t step = 0; step < p.chain.size(); ++step) {
    const PointwiseStep& done = p.chain[step];
    const te::Tensor in = value;
    if (is_binary(done.op)) {
      const std::size_t inputs = arguments.size();
      arguments.push_back(program.placeholder(inputs == 1 ? "B" : "X" + std::to_string(inputs),
                                              detail::broadcast_axes(p.shape, done.broadcast),
                                              p.dtype));
    }
    const te::Tensor operand = arguments.back();
    const std::string name = step == 0 ? "C" : step == 1 ? "D" : "T" + std::to_string(step);
    value = program.compute(
        name, p.shape,
        [&](const std::vector<te::Expr>& at) {
          const te::Expr x = in.at(at);
          return detail::pointwise_value(
              done.op, x,
              is_binary(done.op) ? operand.at(detail::broadcast_axes(at, done.broadcast)) : x);
        },
        options);
  }
  arguments.push_back(value);
  Workload workload;
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.dag = program.dag(arguments);
  workload.nominal_flop = static_cast<double>(p.chain.size());
  for (std::int64_t extent : p.shape) {
    workload.nominal_flop *= static_cast<double>(extent);
  }
  return workload;
}

}  // namespace tensorsmith::ops
