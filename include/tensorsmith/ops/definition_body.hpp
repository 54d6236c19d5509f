// SPDX-License-Identifier: Apache-2.0
// The definitions of definition.hpp.
//
// Floor 3. Included by ops/definition.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/ops/conv.hpp"
#include "tensorsmith/ops/definition.hpp"
#include "tensorsmith/ops/permuted_result.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith::ops {

namespace detail {

using At = std::vector<te::Expr>;

/// Functions of the rows of a tensor, the last of whose axes they run along.
class RowDefinition {
 public:
  RowDefinition(te::Program& program, te::Shape shape, DType type)
      : program_(program), shape_(std::move(shape)), type_(type) {}

  /// f of every element. `at` are all its places.
  template <class F>
  te::Tensor each(const std::string& name, const F& f) {
    return program_.compute(name, shape_, [&](const At& at) { return f(at); });
  }
  /// A sum or maximum over the row of f.
  template <class F>
  te::Tensor sum(const std::string& name, const F& f) {
    return reduced(name,
                   [&](const At& at, const te::ReduceAxis& k) { return te::sum(f(at), {k}); });
  }
  template <class F>
  te::Tensor max(const std::string& name, const F& f) {
    return reduced(name,
                   [&](const At& at, const te::ReduceAxis& k) { return te::max(f(at), {k}); });
  }
  static At row(const At& at) { return At(at.begin(), at.end() - 1); }

  te::Expr wide(const te::Expr& value) const { return te::cast(type_, value); }
  double length() const { return static_cast<double>(shape_.back()); }

 private:
  template <class F>
  te::Tensor reduced(const std::string& name, const F& f) {
    const te::ReduceAxis k = program_.reduce_axis(name + "_k", shape_.back());
    return program_.compute(name, te::Shape(shape_.begin(), shape_.end() - 1), [&](const At& row) {
      At at = row;
      at.push_back(k);
      return f(at, k);
    });
  }

  te::Program& program_;
  te::Shape shape_;
  DType type_;
};

/// exp(x - most) / total, or its logarithm, x - most - log(total).
template <class X>
te::Tensor define_softmax(RowDefinition& rows, const X& x, bool is_log, DType to) {
  const te::Tensor most = rows.max("most", x);
  const auto power = [&](const At& at) { return te::exp(x(at) - most.at(rows.row(at))); };
  const te::Tensor total = rows.sum("total", power);
  return rows.each("result", [&](const At& at) {
    const te::Expr sum = total.at(rows.row(at));
    return te::cast(to, is_log ? x(at) - most.at(rows.row(at)) - te::log(sum) : power(at) / sum);
  });
}

/// (x - mean) / sqrt(mean of (x - mean)^2 + 1e-5) gamma + beta. The mean is that of the distances
/// from the first element, which are what is told apart where the mean is large.
template <class X>
te::Tensor define_layernorm(te::Program& program, RowDefinition& rows, const X& x,
                            std::int64_t columns, DType type, std::vector<te::Tensor>& arguments) {
  const auto distance = [&](const At& at) {
    At first = at;
    first.back() = te::Expr(0);
    return x(at) - x(first);
  };
  const te::Tensor total = rows.sum("total", distance);
  const auto centred = [&](const At& at) {
    return distance(at) - total.at(rows.row(at)) / rows.length();
  };
  const te::Tensor squares =
      rows.sum("squares", [&](const At& at) { return centred(at) * centred(at); });
  const te::Tensor gamma = program.placeholder("gamma", {columns}, type);
  const te::Tensor beta = program.placeholder("beta", {columns}, type);
  arguments.push_back(gamma);
  arguments.push_back(beta);
  return rows.each("result", [&](const At& at) {
    const te::Expr deviation = te::sqrt(squares.at(rows.row(at)) / rows.length() + 1e-5);
    return te::cast(type, centred(at) / deviation * rows.wide(gamma(at.back())) +
                              rows.wide(beta(at.back())));
  });
}

inline Shared<const ComputeDag> define(const RowParams& p, const Shared<const ComputeDag>& own) {
  if (p.kind > RowKind::rmsnorm) {
    return own;
  }
  te::Program program;
  RowDefinition rows(program, {p.rows, p.columns}, accumulator_of(p.dtype));
  const te::Tensor a = program.placeholder("A", {p.rows, p.columns}, p.dtype);
  const auto x = [&](const At& at) { return rows.wide(a.at(at)); };
  std::vector<te::Tensor> arguments{a};
  if (p.kind == RowKind::layernorm) {
    arguments.push_back(define_layernorm(program, rows, x, p.columns, p.dtype, arguments));
  } else if (p.kind == RowKind::rmsnorm) {
    const te::Tensor squares = rows.sum("squares", [&](const At& at) { return x(at) * x(at); });
    const te::Tensor gamma = program.placeholder("gamma", {p.columns}, p.dtype);
    arguments.push_back(gamma);
    arguments.push_back(rows.each("result", [&](const At& at) {
      const te::Expr root = te::sqrt(squares.at(rows.row(at)) / rows.length() + 1e-5);
      return te::cast(p.dtype, x(at) / root * rows.wide(gamma(at.back())));
    }));
  } else {
    arguments.push_back(define_softmax(rows, x, p.kind == RowKind::log_softmax, p.dtype));
  }
  const Shared<const ComputeDag> dag = program.dag(arguments);
  return p.is_transposed ? with_permuted_result(*dag, {1, 0}) : dag;
}

/// The softmax of the scores, then their mean of the rows of V.
inline Shared<const ComputeDag> define(const AttentionParams& p,
                                       const Shared<const ComputeDag>& own) {
  (void)own;
  te::Program program;
  const DType type = accumulator_of(p.dtype);
  RowDefinition rows(program, {p.batch, p.queries, p.keys}, type);
  const te::Tensor q = program.placeholder("Q", {p.batch, p.queries, p.width}, p.dtype);
  const te::Tensor k = program.placeholder("K", {p.batch, p.keys, p.width}, p.dtype);
  const te::Tensor v = program.placeholder("V", {p.batch, p.keys, p.width}, p.dtype);
  const te::ReduceAxis d = program.reduce_axis("d", p.width);
  const te::ReduceAxis j = program.reduce_axis("j", p.keys);
  const double root = math::sqrt(static_cast<double>(p.width));
  const te::Tensor score = rows.each("score", [&](const At& at) {
    return te::sum(rows.wide(q(at[0], at[1], d)) * rows.wide(k(at[0], at[2], d)), {d});
  });
  const te::Tensor share = define_softmax(
      rows, [&](const At& at) { return score.at(at) / root; }, false, type);
  const te::Tensor mean = program.compute("mean", {p.batch, p.queries, p.width}, [&](const At& at) {
    return te::sum(share(at[0], at[1], j) * rows.wide(v(at[0], j, at[2])), {j});
  });
  const te::Tensor out = program.compute("out", {p.batch, p.queries, p.width}, [&](const At& at) {
    return te::cast(p.dtype, mean.at(at));
  });
  return program.dag({q, k, v, out});
}

/// A product's rows, normalized.
inline Shared<const ComputeDag> define(const GemmParams& p, const Shared<const ComputeDag>& own) {
  if (!p.layernorm || p.requant != ByteType::none) {
    return own;
  }
  te::Program program;
  const DType type = accumulator_of(p.dtype);
  const auto shape = [&](std::int64_t rows, std::int64_t columns) {
    return p.is_batched ? te::Shape{p.batch, rows, columns} : te::Shape{rows, columns};
  };
  RowDefinition rows(program, shape(p.m, p.n), type);
  const te::Tensor a =
      program.placeholder("A", p.transpose_a ? shape(p.k, p.m) : shape(p.m, p.k), p.dtype);
  const te::Tensor b = program.placeholder("B", p.transpose_b ? shape(p.n, p.k) : shape(p.k, p.n),
                                           dtype_of(p.weights, p.dtype));
  const te::ReduceAxis k = program.reduce_axis("k", p.k);
  const auto element = [&](const te::Tensor& of, const At& at, const te::Expr& row,
                           const te::Expr& column) {
    return rows.wide(p.is_batched ? of(at[0], row, column) : of(row, column));
  };
  std::vector<te::Tensor> arguments{a, b};
  te::Tensor value = rows.each("product", [&](const At& at) {
    const te::Expr i = at[at.size() - 2], j = at.back();
    return te::sum((p.transpose_a ? element(a, at, k, i) : element(a, at, i, k)) *
                       (p.transpose_b ? element(b, at, j, k) : element(b, at, k, j)),
                   {k});
  });
  const auto then = [&](const std::string& name, const auto& f) {
    const te::Tensor before = value;
    value = rows.each(name, [&](const At& at) { return f(before.at(at), at); });
  };
  if (p.bias) {
    arguments.push_back(program.placeholder("bias", {p.n}, type));
    then("biased", [&](const te::Expr& x, const At& at) { return x + arguments[2](at.back()); });
  }
  if (p.add) {
    arguments.push_back(program.placeholder("R", shape(p.m, p.n), type));
    then("added", [&](const te::Expr& x, const At& at) { return x + arguments.back().at(at); });
  }
  if (p.activation != Activation::none) {
    then("activated", [&](const te::Expr& x, const At&) {
      return p.activation == Activation::relu ? relu(x, p.propagates_nan) : gelu(x);
    });
  }
  arguments.push_back(define_layernorm(
      program, rows, [&](const At& at) { return value.at(at); }, p.n, type, arguments));
  return program.dag(arguments);
}

/// The sum itself, whatever filters are used.
inline Shared<const ComputeDag> define(ConvParams p, const Shared<const ComputeDag>& own) {
  if (p.winograd == 0) {
    return own;
  }
  p.winograd = 0;
  return conv(p).dag;
}

template <class Params>
Shared<const ComputeDag> define(const Params&, const Shared<const ComputeDag>& own) {
  return own;
}

}  // namespace detail

TENSORSMITH_INLINE Shared<const ComputeDag> definition_of(const Workload& workload) {
  return std::visit([&](const auto& params) { return detail::define(params, workload.dag); },
                    workload.params);
}

}  // namespace tensorsmith::ops
