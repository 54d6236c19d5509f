// SPDX-License-Identifier: Apache-2.0
// CHR: a copy of a tensor for some of its readers.
//
// Floor 3. Ansor reference, ch. 2.2 and 2.3. Legal: a scope, at least one reader, each of which
// reads the first tensor of the stage. The new stage gets id stage + 1; later ids shift by one. The
// readers keep their iterators. If the name is taken, ".d" goes in before the scope until it is
// free. One scope copies per iteration, not per element: patches.hpp; one converts: widened.hpp;
// one is for a part of the reads: lanes.hpp.
//   A: placeholder                    A: placeholder
//   C[i,j] += A[i,k] * B[k,j]    -->  A.shared[ax0,ax1] = A[ax0,ax1]
//                                     C[i,j] += A.shared[i,k] * B[k,j]
#pragma once

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/common.hpp"
#include "tensorsmith/sched/apply/lanes.hpp"
#include "tensorsmith/sched/apply/new_operation.hpp"
#include "tensorsmith/sched/apply/patches.hpp"
#include "tensorsmith/sched/apply/widened.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

namespace detail {

/// Whether `id` reads `tensor`; with a stage, whether it does where the last axis of that moves.
inline bool reads_tensor(const ExprPool& pool, ExprId id, TensorId tensor,
                         const Operation* lanes_of = nullptr) {
  bool found = false;
  visit_nodes(pool, id, [&](ExprId node) {
    const TensorRead* read = pool.as<TensorRead>(node);
    found = found || (read != nullptr && read->tensor == tensor &&
                      (lanes_of == nullptr || runs_along_lanes(pool, *lanes_of, read->indices)));
  });
  return found;
}

/// `id` with every read of `from` replaced by the same read of `to`; with a stage, those reads that
/// its last axis moves.
inline ExprId redirect_reads(ExprPool& pool, ExprId id, TensorId from, TensorId to,
                             const Operation* lanes_of = nullptr) {
  const ExprId inner = map_children(
      pool, id, [&](ExprId child) { return redirect_reads(pool, child, from, to, lanes_of); });
  if (const TensorRead* read = pool.as<TensorRead>(inner);
      read != nullptr && read->tensor == from &&
      (lanes_of == nullptr || runs_along_lanes(pool, *lanes_of, read->indices))) {
    ExprList indices = read->indices;
    return pool.read(to, pool.dtype(inner), std::move(indices));
  }
  return inner;
}

inline Shared<const ComputeDag> derive_cache_read(const ComputeDag& dag,
                                                  const CacheReadStep& step) {
  LayeredPool layer(dag);
  ExprPool& pool = layer.pool();
  const auto stage = static_cast<std::size_t>(step.stage);
  std::vector<TensorInfo> tensors = dag.tensors();
  std::vector<Operation> operations = dag.operations();
  const TensorId source = operations[stage].outputs[0];
  Operation cache;
  cache.name = cache_name(dag, operations[stage], step.scope);
  const TensorId copy = add_tensor(tensors, tensors[source.value], cache.name);
  cache.outputs = {copy};
  if (step.scope == patches_scope) {
    read_patches(pool, cache, operations[static_cast<std::size_t>(step.readers[0])], source, copy);
    auto& shape = tensors[copy.value].shape;
    shape = {};
    for (const Axis& axis : cache.axes) {
      shape.push_back(axis.extent);
    }
  } else {
    cache.axes = new_axes(pool, tensors[source.value]);
    const DType own = tensors[source.value].dtype;
    const DType type = step.scope == widened_scope ? wide_type(own) : own;
    const ExprId read = pool.read(source, own, axis_refs(pool, cache.axes));
    cache.bodies = {type == own ? read : pool.cast(type, read)};
    tensors[copy.value].dtype = type;
    for (std::int32_t reader : step.readers) {
      Operation& op = operations[static_cast<std::size_t>(reader)];
      for (ExprId& body : op.bodies) {
        body = type == own ? redirect_reads(pool, body, source, copy,
                                            step.scope == lanes_scope ? &op : nullptr)
                           : redirect_widened(pool, body, source, copy, type);
      }
    }
  }
  operations.insert(operations.begin() + step.stage + 1, std::move(cache));
  return make_shared_of<const ComputeDag>(layer.share(), std::move(tensors), std::move(operations),
                                          dag.arguments());
}

}  // namespace detail

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const CacheReadStep& step, const Step& whole) {
  if (StepCheck error = detail::check_stage(state, step.stage)) {
    return error;
  }
  if (step.scope.empty()) {
    return ScheduleError{ScheduleErrorCode::cache_scope_empty, step.stage};
  }
  if (step.readers.empty()) {
    return ScheduleError{ScheduleErrorCode::cache_read_no_readers, step.stage};
  }
  const TensorId source = state.operation(static_cast<std::size_t>(step.stage)).outputs[0];
  for (std::int32_t reader : step.readers) {
    const bool is_stage = reader >= 0 && static_cast<std::size_t>(reader) < state.num_stages();
    const auto reads = [&](bool is_for_lanes) {
      const Operation& op = state.operation(static_cast<std::size_t>(reader));
      return any_item(op.bodies, [&](ExprId body) {
        return detail::reads_tensor(state.dag().pool(), body, source, is_for_lanes ? &op : nullptr);
      });
    };
    if (!is_stage || !reads(false)) {
      return ScheduleError{ScheduleErrorCode::cache_read_not_a_reader, step.stage, -1, reader};
    }
    if (step.scope == lanes_scope && !reads(true)) {
      return ScheduleError{ScheduleErrorCode::cache_read_no_lanes, step.stage, -1, reader};
    }
  }
  if (step.scope == patches_scope &&
      (step.readers.size() != 1 ||
       !detail::can_read_patches(
           state.dag(), state.operation(static_cast<std::size_t>(step.readers[0])), source))) {
    return ScheduleError{ScheduleErrorCode::cache_read_no_patches, step.stage};
  }
  state.set_dag_node(state.dag_node()->child(
      {&whole}, [&](const ComputeDag& dag) { return detail::derive_cache_read(dag, step); }));
  auto& stages = state.mutable_stages();
  auto cache = make_shared_of<BasicStage<Extent>>(
      initial_stage<Extent>(state.dag(), static_cast<std::uint32_t>(step.stage) + 1));
  cache->scope = step.scope;
  stages.insert(stages.begin() + step.stage + 1, std::move(cache));
  if (!state.attach_map().stage_to_iterator.empty()) {
    state.mutable_attach_map().shift_stages(step.stage + 1);
  }
  return {};
}

}  // namespace tensorsmith
