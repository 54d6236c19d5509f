// SPDX-License-Identifier: Apache-2.0
#include "tune/error_facts.hpp"

#include <algorithm>
#include <vector>

#include "tensorsmith/ir/products.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tune/f64_twin.hpp"

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

bool is_rounded(const ExprPool& pool, ExprId id) {
  const auto* binary = pool.as<Binary>(id);
  return pool.as<Reduce>(id) != nullptr || (binary != nullptr && binary->op <= BinaryOp::div);
}

bool may_amplify(const ComputeDag& dag) {
  const ExprPool& pool = dag.pool();
  const auto is_computed = [&](ExprId id) {
    return any_node(pool, id, [&](ExprId node) {
      const auto* read = pool.as<TensorRead>(node);
      return is_rounded(pool, node) ||
             (read != nullptr && !is_input(dag, dag.tensor(read->tensor)));
    });
  };
  const auto amplifies = [&](ExprId id) {
    const auto* binary = pool.as<Binary>(id);
    const auto* call = pool.as<Call>(id);
    const bool is_function =
        call != nullptr && call->op != CallOp::if_then_else && call->op != CallOp::abs;
    return is_float(pool.dtype(id)) &&
           ((is_function && any_item(call->args, is_computed)) ||
            (binary != nullptr && binary->op == BinaryOp::div && is_computed(binary->b)));
  };
  for (const Operation& operation : dag.operations()) {
    if (any_item(operation.bodies, [&](ExprId body) { return any_node(pool, body, amplifies); })) {
      return true;
    }
  }
  return false;
}

bool sums_cancel_alike(const ComputeDag& dag) {
  constexpr std::int64_t enough = 32;  // different sums, of which some do not cancel
  const ExprPool& pool = dag.pool();
  const auto uses = [&](const TensorRead& read, const Axis& axis) {
    return any_item(read.indices, [&](ExprId index) { return uses_var(pool, index, axis.var); });
  };
  return any_item(dag.operations(), [&](const Operation& op) {
    const Reduce* reduce = op.bodies.empty() ? nullptr : pool.as<Reduce>(op.bodies[0]);
    if (reduce == nullptr || !is_float(pool.dtype(op.bodies[0])) ||
        chooses(pool, pool.combiner(reduce->combiner))) {
      return false;
    }
    std::vector<bool> is_own(op.axes.size(), false);  // the terms differ along it
    for (const ExprId source : reduce->sources) {
      visit_nodes(pool, source, [&](ExprId id) {
        const TensorRead* read = pool.as<TensorRead>(id);
        if (read != nullptr &&
            any_item(op.reduce_axes, [&](const Axis& axis) { return uses(*read, axis); })) {
          for (std::size_t a = 0; a < op.axes.size(); ++a) {
            is_own[a] = is_own[a] || uses(*read, op.axes[a]);
          }
        }
      });
    }
    std::int64_t sums = 1;
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      sums = std::min(enough, sums * (is_own[a] ? std::min(op.axes[a].extent, enough) : 1));
    }
    return sums < enough;
  });
}

ExprList free_factors(const ExprPool& pool, ExprId term) {
  const ExprList factors = factors_of_product(pool, term, most_free_factors);
  return is_float(pool.dtype(term)) && factors.size() > 2 ? factors : ExprList{};
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
