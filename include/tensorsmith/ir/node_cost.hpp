// SPDX-License-Identifier: Apache-2.0
// What an operation costs, in vector instructions of a processor.
//
// Floor 1. Own design. A function (exp, tanh, erf) is a polynomial.
#pragma once

#include <variant>

#include "tensorsmith/ir/expr.hpp"

namespace tensorsmith {

constexpr double vector_instructions(CallOp op) {
  constexpr double root = 8, polynomial = 16;
  switch (op) {
  case CallOp::sqrt:
  case CallOp::rsqrt:
    return root;
  case CallOp::exp:
  case CallOp::log:
  case CallOp::tanh:
  case CallOp::erf:
  case CallOp::sigmoid:
    return polynomial;
  case CallOp::pow:
    return 2 * polynomial;
  case CallOp::abs:
  case CallOp::floor:
  case CallOp::ceil:
  case CallOp::round:
  case CallOp::if_then_else:
    return 1;
  }
  return 1;
}

/// Its operands given; 0 for what is no operation.
inline double vector_instructions(const ExprNode& node) {
  constexpr double division = 8;
  if (const Binary* binary = std::get_if<Binary>(&node.op)) {
    return binary->op == BinaryOp::div ? division : 1;
  }
  if (const Call* call = std::get_if<Call>(&node.op)) {
    return vector_instructions(call->op);
  }
  return std::holds_alternative<Unary>(node.op) || std::holds_alternative<Select>(node.op) ||
                 std::holds_alternative<Cast>(node.op)
             ? 1
             : 0;
}

}  // namespace tensorsmith
