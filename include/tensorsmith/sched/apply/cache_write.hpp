// SPDX-License-Identifier: Apache-2.0
// CHW: compute into a cache, then copy.
//
// Floor 3. Ansor reference, ch. 2.2 and 2.3. Legal: a scope; one output (the reference adds a stray
// stage for more, we refuse); nothing was done to the stage yet, because it starts again as the
// copy. The cache takes the stage's id, the copy becomes stage + 1.
//   C[i,j] += A[i,k] * B[k,j]    -->  C.local[i_c,j_c] += A[i_c,k] * B[k,j_c]
//                                     C[i,j] = C.local[i,j]
#pragma once

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/common.hpp"
#include "tensorsmith/sched/apply/new_operation.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

namespace detail {

inline Shared<const ComputeDag> derive_cache_write(const ComputeDag& dag,
                                                   const CacheWriteStep& step) {
  LayeredPool layer(dag);
  ExprPool& pool = layer.pool();
  std::vector<TensorInfo> tensors = dag.tensors();
  std::vector<Operation> operations = dag.operations();
  Operation& copy = operations[static_cast<std::size_t>(step.stage)];
  const TensorId result = copy.outputs[0];
  Operation cache = copy;
  cache.name = copy.name + "." + step.scope;
  Substitution to_new;
  for (Axis& axis : cache.axes) {
    const VarId old = axis.var;
    axis.var = pool.new_var(std::string(pool.var_name(old)) + ".c", pool.var_dtype(old));
    to_new.set(old, pool.var(axis.var));
  }
  cache.bodies = {to_new(pool, copy.bodies[0])};
  cache.outputs = {add_tensor(tensors, tensors[result.value], cache.name)};
  copy.reduce_axes.clear();
  copy.bodies = {
      pool.read(cache.outputs[0], tensors[result.value].dtype, axis_refs(pool, copy.axes))};
  operations.insert(operations.begin() + step.stage, std::move(cache));
  return make_shared_of<const ComputeDag>(layer.share(), std::move(tensors), std::move(operations),
                                          dag.arguments());
}

}  // namespace detail

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const CacheWriteStep& step, const Step& whole) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  if (step.scope.empty()) {
    return ScheduleError{ScheduleErrorCode::cache_scope_empty, step.stage};
  }
  const auto id = static_cast<std::uint32_t>(step.stage);
  if (const std::size_t outputs = state.operation(id).outputs.size(); outputs != 1) {
    return ScheduleError{ScheduleErrorCode::cache_write_multi_output, step.stage, -1,
                         static_cast<std::int64_t>(outputs)};
  }
  if (!detail::is_untouched(state, step.stage)) {
    return ScheduleError{ScheduleErrorCode::cache_write_transformed, step.stage};
  }
  state.set_dag_node(state.dag_node()->child(
      {&whole}, [&](const ComputeDag& dag) { return detail::derive_cache_write(dag, step); }));
  auto& stages = state.mutable_stages();
  auto copy = make_shared_of<BasicStage<Extent>>(initial_stage<Extent>(state.dag(), id + 1));
  copy->scope = stages[id]->scope;
  copy->is_partial_sum = stages[id]->is_partial_sum;
  stages[id] = std::move(copy);
  auto cache = make_shared_of<BasicStage<Extent>>(initial_stage<Extent>(state.dag(), id));
  cache->scope = step.scope;
  stages.insert(stages.begin() + step.stage, std::move(cache));
  if (!state.attach_map().stage_to_iterator.empty()) {
    state.mutable_attach_map().shift_stages(step.stage);
  }
  return {};
}

}  // namespace tensorsmith
