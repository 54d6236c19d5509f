// Chains of pointwise operations, one stage each.
//
// Floor 3. Own design; add + relu is the program of the Ansor reference. Inputs are called A, B,
// X2, X3, ..., stages C, D, T2, T3, ...
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

inline Workload pointwise(const PointwiseParams& p) {
  if (p.chain.empty()) {
    detail::misuse("pointwise", "at least one operation", "none");
  }
  if (!is_float(p.dtype)) {
    detail::misuse("pointwise", "a float type", std::string(name_of(p.dtype)));
  }
  const std::vector<std::string> names{"i", "j", "k", "l", "m", "n", "o", "p"};
  if (p.shape.empty() || p.shape.size() > names.size()) {
    detail::misuse("pointwise", "1 to 8 dimensions", std::to_string(p.shape.size()));
  }
  te::Program program;
  const te::ComputeOptions options{
      {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(p.shape.size())}, {}, {}};
  te::Tensor value = program.placeholder("A", p.shape, p.dtype);
  std::vector<te::Tensor> arguments{value};
  for (std::size_t step = 0; step < p.chain.size(); ++step) {
    const PointwiseOp op = p.chain[step];
    const te::Tensor in = value;
    const bool is_binary = op == PointwiseOp::add || op == PointwiseOp::mul;
    if (is_binary) {
      const std::size_t inputs = arguments.size();
      arguments.push_back(
          program.placeholder(inputs == 1 ? "B" : "X" + std::to_string(inputs), p.shape, p.dtype));
    }
    const std::string name = step == 0 ? "C" : step == 1 ? "D" : "T" + std::to_string(step);
    value = program.compute(
        name, p.shape,
        [&](const std::vector<te::Expr>& at) {
          const te::Expr x = in.at(at);
          switch (op) {
          case PointwiseOp::add:
            return x + arguments.back().at(at);
          case PointwiseOp::mul:
            return x * arguments.back().at(at);
          case PointwiseOp::relu:
            return te::max(x, 0);
          case PointwiseOp::gelu:
            return detail::gelu(x);
          case PointwiseOp::sigmoid:
            return te::sigmoid(x);
          case PointwiseOp::tanh:
            return te::tanh(x);
          case PointwiseOp::exp:
            return te::exp(x);
          }
          return x;
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
