// SPDX-License-Identifier: Apache-2.0
// GpuOperations: what a value costs to compute on a GPU, by the unit that does it.
//
// Floor 6. Own design; rates of units: CUDA C++ Programming Guide, "Arithmetic Instructions". f16
// and bf16 count as f32, in which the generated code computes. Not here: loads.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith {

/// Instructions of one thread for one value.
struct GpuOperations {
  double f32 = 0, f64 = 0, integer = 0, special = 0, moves = 0;
  std::vector<ExprId> loads;       ///< each once
  std::vector<ExprId> conditions;  ///< those that stand in front of each of them, or none
  /// Arithmetic on numbers of loops alone, such as conditions of padding: not counted here, because
  /// it is done as often as these loops say.
  std::vector<ExprId> of_loops;

  double total() const { return f32 + f64 + integer + special + moves; }
};

namespace detail {

inline void add_operations(DType type, double count, GpuOperations& sum) {
  (type == DType::f64 ? sum.f64 : is_float(type) ? sum.f32 : sum.integer) += count;
}

/// Integers or booleans that no loaded value goes into.
inline bool is_of_loops(const ExprPool& pool, ExprId id) {
  const DType type = pool.dtype(id);
  if (type != DType::boolean && type != DType::i32 && type != DType::i64) {
    return false;
  }
  bool has_load = false;
  visit_nodes(pool, id,
              [&](ExprId part) { has_load = has_load || pool.as<Load>(part) != nullptr; });
  return !has_load;
}

}  // namespace detail

/// Adds those of `id`. Indices are free unless they hold loads: addresses are carried along.
/// `condition`: it stands behind one.
inline void count_operations(const ExprPool& pool, ExprId id, GpuOperations& sum,
                             ExprId condition = {}) {
  const ExprNode& node = pool[id];
  if (const Load* load = std::get_if<Load>(&node.op)) {
    for (const ExprId known : sum.loads) {
      if (known == id) {
        return;
      }
    }
    sum.loads.push_back(id);
    sum.conditions.push_back(condition);
    for (const ExprId index : load->indices) {
      visit_expr(pool, index, [&](ExprId part) {
        if (pool.as<Load>(part) != nullptr) {
          count_operations(pool, part, sum);
        }
      });
    }
    return;
  }
  if (detail::is_of_loops(pool, id)) {
    sum.of_loops.push_back(id);
    return;
  }
  if (const Binary* binary = std::get_if<Binary>(&node.op)) {
    const DType type = pool.dtype(binary->a);
    const Binary* product = pool.as<Binary>(binary->b);
    const bool is_fused = binary->op == BinaryOp::add && product != nullptr &&
                          product->op == BinaryOp::mul && type != DType::boolean;
    constexpr double division = 8;  // an approximation and its correction
    detail::add_operations(type, is_fused ? 0 : binary->op == BinaryOp::div ? division : 1, sum);
  } else if (const Call* call = std::get_if<Call>(&node.op)) {
    if (call->op == CallOp::if_then_else) {
      sum.moves += 1;
      condition = call->args[0];
    } else {  // the special unit's, and what is done before and after
      const bool is_long = call->op == CallOp::erf || call->op == CallOp::pow;
      sum.special += 1;
      detail::add_operations(node.dtype, is_long ? 12 : 3, sum);
    }
  } else if (std::holds_alternative<Unary>(node.op) || std::holds_alternative<Select>(node.op) ||
             std::holds_alternative<Cast>(node.op)) {
    sum.moves += 1;
  }
  for_each_child(node, [&](ExprId child) { count_operations(pool, child, sum, condition); });
}

}  // namespace tensorsmith
