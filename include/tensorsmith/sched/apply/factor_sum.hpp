// SPDX-License-Identifier: Apache-2.0
// TFS: a sum of products in two stages: what some of its axes move is summed over those first.
//
// Floor 3. Own design (the distributive law; what people do who order the contractions of an
// einsum). Legal: a sum with one output, no 16-bit floats, to which nothing was done yet; `summed`
// are some of its reduction axes, `kept` other axes of the stage, as positions among its axes,
// spatial ones first; every factor that a summed axis moves is moved by axes of both lists alone,
// and there are such factors and others. The new stage has the id of the old one, its axes are
// those that are kept, in this order; the old one becomes stage + 1.
//   M[i,r] += X[i,j,k] * B[j,r] * C[k,r]  over j, k
//   kept i, j, r; summed k  -->  M.sum[i,j,r] += X[i,j,k] * C[k,r]  over k
//                                M[i,r] += B[j,r] * M.sum[i,j,r]    over j
// A part of a product may leave the range of the type where the whole would not.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/products.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/common.hpp"
#include "tensorsmith/sched/apply/new_operation.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

namespace detail {

inline ExprId product_of(ExprPool& pool, const ExprList& factors) {
  ExprId product = factors[0];
  for (std::size_t i = 1; i < factors.size(); ++i) {
    product = pool.mul(product, factors[i]);
  }
  return product;
}

}  // namespace detail

/// The factors of a sum of products that may be summed in parts; none of other stages.
inline ExprList factors_of_sum(const ExprPool& pool, const Operation& op) {
  const Reduce* reduce = op.bodies.size() == 1 ? pool.as<Reduce>(op.bodies[0]) : nullptr;
  if (reduce == nullptr || !adds_terms(pool, pool.combiner(reduce->combiner))) {
    return {};
  }
  const DType type = pool.dtype(reduce->sources[0]);
  return is_integer(type) || type == DType::f32 || type == DType::f64
             ? factors_of_product(pool, reduce->sources[0], most_free_factors)
             : ExprList{};
}

namespace detail {

/// Whether an axis at one of these positions moves `id`.
inline bool is_moved_by(const ExprPool& pool, const Operation& op, ExprId id,
                        const IdList& positions) {
  return any_item(positions, [&](std::int32_t at) { return uses_var(pool, id, op.axis_var(at)); });
}

inline bool can_factor_sum(const ComputeDag& dag, const FactorSumStep& step) {
  const ExprPool& pool = dag.pool();
  const Operation& op = dag.operation(static_cast<std::size_t>(step.stage));
  const auto num_spatial = static_cast<std::int32_t>(op.axes.size());
  const auto num_axes = num_spatial + static_cast<std::int32_t>(op.reduce_axes.size());
  IdList others;
  for (std::int32_t at = 0; at < num_axes; ++at) {
    const bool is_kept = has_item(step.kept, at);
    const bool is_summed = at >= num_spatial && has_item(step.summed, at);
    if (is_kept && is_summed) {
      return false;
    }
    if (!is_kept && !is_summed) {
      others.push_back(at);
    }
  }
  if (others.size() + step.kept.size() + step.summed.size() != static_cast<std::size_t>(num_axes)) {
    return false;  // an axis twice, or one that there is not
  }
  const ExprList factors = factors_of_sum(pool, op);
  const std::size_t num_first = count_items(
      factors, [&](ExprId factor) { return is_moved_by(pool, op, factor, step.summed); });
  return num_first > 0 && num_first < factors.size() && all_items(factors, [&](ExprId factor) {
           return !is_moved_by(pool, op, factor, step.summed) ||
                  !is_moved_by(pool, op, factor, others);
         });
}

inline Shared<const ComputeDag> derive_factored(const ComputeDag& dag, const FactorSumStep& step) {
  LayeredPool layer(dag);
  ExprPool& pool = layer.pool();
  std::vector<TensorInfo> tensors = dag.tensors();
  std::vector<Operation> operations = dag.operations();
  Operation& rest = operations[static_cast<std::size_t>(step.stage)];
  const Reduce reduce = *pool.as<Reduce>(rest.bodies[0]);
  ExprList first, others;
  for (ExprId factor : factors_of_sum(pool, rest)) {
    (is_moved_by(pool, rest, factor, step.summed) ? first : others).push_back(factor);
  }
  const auto num_spatial = static_cast<std::int32_t>(rest.axes.size());
  const auto axis_at = [&](std::int32_t at) {
    return at < num_spatial ? rest.axes[static_cast<std::size_t>(at)]
                            : rest.reduce_axes[static_cast<std::size_t>(at - num_spatial)];
  };

  Operation part;
  part.name = cache_name(dag, rest, "sum");
  TensorInfo info = tensors[rest.outputs[0].value];
  info.shape = {};
  Substitution to_part;
  ExprList indices;
  for (std::int32_t at : step.kept) {
    const Axis axis = axis_at(at);
    const VarId var = pool.new_var(pool.var_name(axis.var), pool.var_dtype(axis.var));
    part.axes.push_back({var, axis.extent});
    info.shape.push_back(axis.extent);
    indices.push_back(pool.var(axis.var));
    to_part.set(axis.var, pool.var(var));
  }
  Reduce sum{reduce.combiner, {to_part(pool, product_of(pool, first))}, {}, 0};
  std::vector<Axis> left;
  for (std::size_t r = 0; r < rest.reduce_axes.size(); ++r) {
    const bool is_summed = has_item(step.summed, num_spatial + static_cast<std::int32_t>(r));
    (is_summed ? part.reduce_axes : left).push_back(rest.reduce_axes[r]);
  }
  for (const Axis& axis : part.reduce_axes) {
    sum.axes.push_back(axis.var);
  }
  part.bodies = {pool.reduce(sum)};
  const TensorId tensor = add_tensor(tensors, info, part.name);
  part.outputs = {tensor};

  others.push_back(pool.read(tensor, info.dtype, std::move(indices)));
  const ExprId term = product_of(pool, others);
  rest.reduce_axes = std::move(left);
  rest.attrs.flop = -1;
  if (rest.reduce_axes.empty()) {
    rest.bodies = {term};
  } else {
    Reduce total{reduce.combiner, {term}, {}, 0};
    for (const Axis& axis : rest.reduce_axes) {
      total.axes.push_back(axis.var);
    }
    rest.bodies = {pool.reduce(total)};
  }
  operations.insert(operations.begin() + step.stage, std::move(part));
  return make_shared_of<const ComputeDag>(layer.share(), std::move(tensors), std::move(operations),
                                          dag.arguments());
}

}  // namespace detail

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const FactorSumStep& step, const Step& whole) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  const auto id = static_cast<std::uint32_t>(step.stage);
  if (!detail::can_factor_sum(state.dag(), step)) {
    return ScheduleError{ScheduleErrorCode::factor_sum, step.stage};
  }
  if (!detail::is_untouched(state, step.stage)) {
    return ScheduleError{ScheduleErrorCode::factor_sum_transformed, step.stage};
  }
  state.set_dag_node(state.dag_node()->child(
      {&whole}, [&](const ComputeDag& dag) { return detail::derive_factored(dag, step); }));
  auto& stages = state.mutable_stages();
  auto rest = make_shared_of<BasicStage<Extent>>(initial_stage<Extent>(state.dag(), id + 1));
  rest->scope = stages[id]->scope;
  stages[id] = std::move(rest);
  stages.insert(stages.begin() + step.stage,
                make_shared_of<BasicStage<Extent>>(initial_stage<Extent>(state.dag(), id)));
  if (!state.attach_map().stage_to_iterator.empty()) {
    state.mutable_attach_map().shift_stages(step.stage);
  }
  return {};
}

}  // namespace tensorsmith
