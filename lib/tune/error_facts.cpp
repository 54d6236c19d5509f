// SPDX-License-Identifier: Apache-2.0
#include "tune/error_facts.hpp"

#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith {

bool may_be_padding(const ComputeDag& dag, ExprId id) {
  const ExprPool& pool = dag.pool();
  const auto is_zero = [&](ExprId arm) {
    const FloatImm* number = pool.as<FloatImm>(arm);
    return number != nullptr && number->value == 0;
  };
  if (const TensorRead* read = pool.as<TensorRead>(id)) {
    const TensorInfo& tensor = dag.tensor(read->tensor);
    const Operation& operation = dag.operation(tensor.operation);
    return !operation.is_placeholder() &&
           may_be_padding(dag, operation.bodies[tensor.output_index]);
  }
  if (const Cast* cast = pool.as<Cast>(id)) {
    return may_be_padding(dag, cast->a);
  }
  const Call* call = pool.as<Call>(id);
  const Select* select = pool.as<Select>(id);
  return (call != nullptr && call->op == CallOp::if_then_else &&
          (is_zero(call->args[1]) || is_zero(call->args[2]))) ||
         (select != nullptr && (is_zero(select->if_true) || is_zero(select->if_false)));
}

bool chooses(const ExprPool& pool, const Combiner& combiner) {
  bool holds = true;
  for (const ExprId result : combiner.results) {
    visit_nodes(pool, result, [&](ExprId id) {
      const Binary* node = pool.as<Binary>(id);
      const bool computes = pool.as<Call>(id) != nullptr || pool.as<Cast>(id) != nullptr ||
                            pool.as<Unary>(id) != nullptr ||
                            (node != nullptr && node->op <= BinaryOp::floormod);
      holds = holds && !(is_float(pool.dtype(id)) && computes);
    });
  }
  return holds;
}

}  // namespace tensorsmith
