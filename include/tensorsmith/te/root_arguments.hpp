// SPDX-License-Identifier: Apache-2.0
// Which tensors are what a root or a logarithm is taken of: negative values would be no numbers.
//
// Floor 2. Own design. Looked for are reads as such an argument, alone or in a sum with constants
// (a variance and its epsilon). Not here: drawing values (measure/fill.hpp).
#pragma once

#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

/// By tensor id.
inline std::vector<bool> root_arguments(const ComputeDag& dag) {
  const ExprPool& pool = dag.pool();
  std::vector<bool> found(dag.tensors().size(), false);
  const auto mark = [&](const auto& self, ExprId id) -> void {
    if (const TensorRead* read = pool.as<TensorRead>(id)) {
      found[read->tensor.value] = true;
    } else if (const Cast* cast = pool.as<Cast>(id)) {
      self(self, cast->a);
    } else if (const Binary* sum = pool.as<Binary>(id);
               sum != nullptr && sum->op == BinaryOp::add) {
      self(self, sum->a);
      self(self, sum->b);
    }
  };
  for (const Operation& op : dag.operations()) {
    for (ExprId body : op.bodies) {
      visit_nodes(pool, body, [&](ExprId id) {
        const Call* call = pool.as<Call>(id);
        if (call != nullptr &&
            (call->op == CallOp::sqrt || call->op == CallOp::rsqrt || call->op == CallOp::log)) {
          mark(mark, call->args[0]);
        }
      });
    }
  }
  return found;
}

}  // namespace tensorsmith::te
