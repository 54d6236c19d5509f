// SPDX-License-Identifier: Apache-2.0
// How one operation reads one tensor: the tests on index vectors.
//
// Floor 2. Ansor reference, ch. 1.2 (const-shift-equal, simple access test). Not here: conclusions
// about stages (te/access_analysis.hpp).
#pragma once

#include <vector>

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

/// `index` is var, var + c, var - c or c + var.
inline bool is_const_shift_equal(const ExprPool& pool, VarId var, ExprId index) {
  const auto is_var = [&](ExprId id) {
    const VarRef* ref = pool.as<VarRef>(id);
    return ref != nullptr && ref->var == var;
  };
  if (is_var(index)) {
    return true;
  }
  const Binary* binary = pool.as<Binary>(index);
  if (binary == nullptr || (binary->op != BinaryOp::add && binary->op != BinaryOp::sub)) {
    return false;
  }
  if (is_var(binary->a) && pool.as<IntImm>(binary->b) != nullptr) {
    return true;
  }
  return binary->op == BinaryOp::add && is_var(binary->b) && pool.as<IntImm>(binary->a) != nullptr;
}

struct SimpleAccess {
  bool is_simple = true;
  bool axis_missing = false, axis_duplicated = false, same_order = true;
  bool is_elementwise() const {
    return is_simple && !axis_missing && !axis_duplicated && same_order;
  }
};

/// The simple-access test of one index vector in operation `op`.
inline SimpleAccess test_access(const ExprPool& pool, const Operation& op,
                                const ExprList& indices) {
  SimpleAccess result;
  std::vector<std::size_t> matched;
  std::vector<int> count(op.axes.size(), 0);
  for (ExprId index : indices) {
    if (pool.as<IntImm>(index) != nullptr) {
      continue;
    }
    std::size_t axis = 0;
    while (axis < op.axes.size() && !is_const_shift_equal(pool, op.axes[axis].var, index)) {
      ++axis;
    }
    if (axis == op.axes.size()) {
      result.is_simple = false;
      return result;
    }
    if (!matched.empty() && axis < matched.back()) {
      result.same_order = false;
    }
    matched.push_back(axis);
    ++count[axis];
  }
  for (int times : count) {
    result.axis_missing = result.axis_missing || times == 0;
    result.axis_duplicated = result.axis_duplicated || times > 1;
  }
  return result;
}

}  // namespace tensorsmith::te
