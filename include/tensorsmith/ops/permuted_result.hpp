// SPDX-License-Identifier: Apache-2.0
// The result of a workload with its axes in another order.
//
// Floor 3. Own design. One more stage, which copies; a search may let it run along with what is in
// front of it.
//     Y[i, j]  -->  Yt[j, i] = Y[i, j]
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ops/op.hpp"
#include "tensorsmith/te/compute_dag_build.hpp"

namespace tensorsmith::ops::detail {

/// Whether every number below the length is there, once.
inline bool is_permutation(const std::vector<std::int64_t>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    bool found = false;
    for (std::int64_t number : numbers) {
      found = found || number == static_cast<std::int64_t>(i);
    }
    if (!found) {
      return false;
    }
  }
  return true;
}

/// Axis d of the result is axis permutation[d] of the last argument, an output that nothing reads.
inline Shared<const ComputeDag> with_permuted_result(const ComputeDag& dag,
                                                     const std::vector<std::int64_t>& permutation) {
  ExprPool pool = dag.pool();
  std::vector<TensorInfo> tensors = dag.tensors();
  std::vector<Operation> operations = dag.operations();
  std::vector<TensorId> arguments = dag.arguments();
  const TensorId source = arguments.back();
  const TensorInfo& from = dag.tensor(source);
  Operation op;
  op.name = from.name + "t";
  TensorInfo to;
  to.name = op.name;
  to.dtype = from.dtype;
  ExprList read(from.shape.size(), ExprId{});
  for (std::int64_t axis : permutation) {
    const auto of = static_cast<std::size_t>(axis);
    const VarId var = pool.new_var(pool.var_name(dag.operation(from.operation).axes[of].var));
    op.axes.push_back({var, from.shape[of]});
    to.shape.push_back(from.shape[of]);
    read[of] = pool.var(var);
  }
  op.bodies.push_back(pool.read(source, from.dtype, std::move(read)));
  op.outputs.push_back(TensorId{static_cast<std::uint32_t>(tensors.size())});
  to.operation = static_cast<std::uint32_t>(operations.size());
  arguments.back() = op.outputs.front();
  tensors.push_back(std::move(to));
  operations.push_back(std::move(op));
  return make_shared_of<const ComputeDag>(
      te::build_compute_dag(make_shared_of<const ExprPool>(std::move(pool)), std::move(tensors),
                            std::move(operations), std::move(arguments)));
}

}  // namespace tensorsmith::ops::detail
