// SPDX-License-Identifier: Apache-2.0
// prepared_stages: what can be computed before the first call of a kernel.
//
// Floor 3. Own design. A stage that depends on constant inputs alone (constant_arguments() in
// te/compute_dag.hpp) has the same value in every call: packed weights, transformed filters.
//     W: constant, W.packed = W, Y += X * W.packed  -->  W.packed is prepared, Y is not
// Not here: the function that computes them (lower/prepack.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/te/constant_arguments.hpp"

namespace tensorsmith {

/// By stage id; constant inputs count as prepared. Stages inside of the loops of one that is not
/// are not either. All false without constant inputs.
template <class Extent>
std::vector<bool> prepared_stages(const BasicState<Extent>& state) {
  const ComputeDag& dag = state.dag();
  const std::size_t count = state.num_stages();
  std::vector<bool> is_prepared(count, false);
  const std::vector<bool> is_constant = constant_arguments(*state.initial_dag());
  bool has_any = false;
  for (std::size_t i = 0; i < is_constant.size(); ++i) {
    if (is_constant[i]) {
      is_prepared[dag.tensor(dag.arguments()[i]).operation] = true;
      has_any = true;
    }
  }
  if (!has_any) {
    return is_prepared;
  }
  for (std::size_t s = 0; s < count; ++s) {
    const Operation& op = dag.operation(s);
    bool depends_on_constants = !op.is_placeholder();
    for (ExprId body : op.bodies) {
      visit_nodes(dag.pool(), body, [&](ExprId id) {
        if (const TensorRead* read = dag.pool().template as<TensorRead>(id)) {
          const std::size_t producer = dag.tensor(read->tensor).operation;
          depends_on_constants = depends_on_constants && is_prepared[producer];
        }
      });
    }
    for (TensorId argument : dag.arguments()) {  // outputs are written in every call
      depends_on_constants = depends_on_constants && dag.tensor(argument).operation != s;
    }
    is_prepared[s] = is_prepared[s] || depends_on_constants;
  }
  for (std::size_t s = count; s-- > 0;) {
    const auto& places = state.attach_map().stage_to_iterator;
    const auto found = places.find(static_cast<std::int32_t>(s));
    if (found != places.end()) {
      is_prepared[s] = is_prepared[s] && is_prepared[static_cast<std::size_t>(found->second.stage)];
    }
  }
  return is_prepared;
}

}  // namespace tensorsmith
