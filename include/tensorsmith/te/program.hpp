// SPDX-License-Identifier: Apache-2.0
// te::Program: how a person writes a computation.
//
// Floor 2. Own design.
//   te::Program p;
//   auto A = p.placeholder("A", {M, K}), B = p.placeholder("B", {K, N});
//   auto k = p.reduce_axis("k", K);
//   auto C = p.compute("C", {M, N}, [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k});
//   }); auto dag = p.dag({A, B, C});  // argument order of the kernel
// Handles (Tensor, Expr, ReduceAxis) live as long as the program. Misuse throws tensorsmith::Error.
// Not here: ready-made operators (ops/).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/tensor.hpp"

namespace tensorsmith::te {

/// What may be said about a compute beside its formula.
struct ComputeOptions {
  std::vector<std::string> axes = {};  ///< iterator names; default i, j, k, ... (free ones)
  std::string tag = {};
  OperationAttrs attrs = {};
};

class Program {
 public:
  Program() : data_(make_owned<detail::ProgramData>()) {}

  Tensor placeholder(const std::string& name, const Shape& shape, DType dtype = DType::f32);
  ReduceAxis reduce_axis(const std::string& name, std::int64_t extent);
  Expr constant(DType dtype, Expr literal) { return literal.typed(data_.get(), dtype, "constant"); }

  /// `body` takes one te::Expr per dimension, or one std::vector<te::Expr> for any rank.
  template <class Body>
  Tensor compute(const std::string& name, const Shape& shape, Body&& body,
                 ComputeOptions options = {}) {
    Operation op = new_compute(name, shape, std::move(options));
    const Expr value = invoke(op, body);
    return finish(std::move(op), shape, {value})[0];
  }
  /// Several outputs of one shape: `body` returns a std::vector<te::Expr>, as te::reduce does.
  template <class Body>
  std::vector<Tensor> compute_all(const std::string& name, const Shape& shape, Body&& body,
                                  ComputeOptions options = {}) {
    Operation op = new_compute(name, shape, std::move(options));
    const std::vector<Expr> values = invoke(op, body);
    return finish(std::move(op), shape, values);
  }

  /// A reduction operator with one result per type: `results(lhs, rhs)` combines the accumulators
  /// lhs and the new values rhs (both std::vector<te::Expr>).
  template <class Results>
  CombinerId combiner(const std::vector<DType>& types, const std::vector<Expr>& identity,
                      Results&& results) {
    if (types.empty() || types.size() != identity.size()) {
      detail::misuse("combiner", "one identity per type, at least one",
                     std::to_string(types.size()) + " types and " +
                         std::to_string(identity.size()) + " identities");
    }
    Combiner made;
    std::vector<Expr> lhs, rhs;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string suffix = types.size() > 1 ? "_" + std::to_string(i) : "";
      made.lhs.push_back(data_->pool.new_var("x" + suffix, types[i]));
      made.rhs.push_back(data_->pool.new_var("y" + suffix, types[i]));
      lhs.emplace_back(data_.get(), data_->pool.var(made.lhs.back()));
      rhs.emplace_back(data_.get(), data_->pool.var(made.rhs.back()));
      made.identity.push_back(identity[i].typed(data_.get(), types[i], "combiner").id());
    }
    const std::vector<Expr> values = results(lhs, rhs);
    if (values.size() != types.size()) {
      detail::misuse("combiner", std::to_string(types.size()) + " results",
                     std::to_string(values.size()));
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Expr value = values[i].typed(data_.get(), types[i], "combiner");
      if (value.dtype() != types[i]) {
        detail::misuse("combiner",
                       "result " + std::to_string(i) + " of type " + detail::text(types[i]),
                       detail::text(value.dtype()));
      }
      made.results.push_back(value.id());
    }
    return data_->pool.add_combiner(std::move(made));
  }

  /// The dag of everything `arguments` need; they are the kernel's arguments in this order. The dag
  /// is independent of the program's further life.
  Shared<const ComputeDag> dag(const std::vector<Tensor>& arguments) const;

 private:
  static constexpr std::size_t max_rank = 8;

  static void require_name(const std::string& where, const std::string& name);
  static void require_extent(const std::string& where, std::int64_t extent);
  void require_own(const Tensor& tensor) const;

  std::vector<Tensor> add_operation(Operation op, const Shape& shape,
                                    const std::vector<DType>& types);

  /// i, j, k, l, m, n, o, p without the names of reduction axes made so far.
  std::string default_axis_name(std::size_t which) const;
  Operation new_compute(const std::string& name, const Shape& shape, ComputeOptions options);

  template <class Body, std::size_t... I>
  static constexpr bool takes(std::index_sequence<I...>) {
    return std::is_invocable_v<Body&, decltype((void)I, std::declval<Expr>())...>;
  }
  template <class Body, std::size_t... I>
  static auto call_with(Body& body, const std::vector<Expr>& axes, std::index_sequence<I...>) {
    return body(axes[I]...);
  }
  template <class Body, std::size_t Rank = 0>
  static constexpr std::size_t first_arity() {
    if constexpr (Rank > max_rank || takes<Body>(std::make_index_sequence<Rank>{})) {
      return Rank;
    } else {
      return first_arity<Body, Rank + 1>();
    }
  }
  template <class Body, std::size_t Rank, class Result>
  static bool invoke_rank(Body& body, const std::vector<Expr>& axes, std::vector<Result>& out) {
    if constexpr (Rank <= max_rank) {
      if constexpr (takes<Body>(std::make_index_sequence<Rank>{})) {
        if (axes.size() == Rank) {
          out.push_back(call_with(body, axes, std::make_index_sequence<Rank>{}));
          return true;
        }
      }
      return invoke_rank<Body, Rank + 1>(body, axes, out);
    } else {
      return false;
    }
  }
  template <class Body>
  auto invoke(const Operation& op, Body& body) const {
    std::vector<Expr> axes;
    for (const Axis& axis : op.axes) {
      axes.emplace_back(data_.get(), data_->pool.var(axis.var));
    }
    constexpr std::size_t arity = first_arity<Body>();
    if constexpr (arity > max_rank) {
      static_assert(std::is_invocable_v<Body&, const std::vector<Expr>&>,
                    "the body takes one te::Expr per dimension, or one std::vector<te::Expr>");
      return body(std::as_const(axes));
    } else {
      using Result = decltype(call_with(body, axes, std::make_index_sequence<arity>{}));
      std::vector<Result> result;
      if (!invoke_rank<Body, 0>(body, axes, result)) {
        detail::misuse("compute \"" + op.name + "\"",
                       "a body with " + std::to_string(axes.size()) + " parameters",
                       std::to_string(arity));
      }
      return result[0];
    }
  }

  std::vector<Tensor> finish(Operation op, const Shape& shape, const std::vector<Expr>& values);

  Owned<detail::ProgramData> data_;
};

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/program_body.hpp"
#endif
