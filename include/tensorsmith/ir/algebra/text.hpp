// SPDX-License-Identifier: Apache-2.0
// expression_text: an expression as the reference prints it, `i_outer * 4 + 3 - j // 2`.
//
// Floor 1. Own design. Parentheses only where they are needed; operators of one rank bind to the
// left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tensorsmith/ir/algebra/pool.hpp"

namespace tensorsmith::algebra {

namespace detail {

template <class NameOf>
class ExpressionText {
 public:
  ExpressionText(const Pool& pool, const NameOf& name_of) : pool_(pool), name_of_(name_of) {}

  /// In parentheses if it binds less than `rank`.
  std::string print(Ref ref, int rank) const {
    const Node& node = pool_[ref];
    switch (node.op) {
    case Op::integer:
      return node.dtype == DType::boolean ? (node.value != 0 ? "T.bool(True)" : "T.bool(False)")
                                          : std::to_string(node.value);
    case Op::var:
      return name_of_(static_cast<std::int32_t>(node.value));
    case Op::not_:
      return "not " + print(node.a, 7);
    case Op::min:
    case Op::max:
      return std::string(node.op == Op::min ? "T.min(" : "T.max(") + list(node) + ")";
    case Op::select:
      return "T.Select(" + list(node) + ")";
    case Op::if_then_else:
      return "T.if_then_else(" + list(node) + ")";
    case Op::cast:
      return "T.Cast(\"" + std::string(reference_name_of(node.dtype)) + "\", " + list(node) + ")";
    default:
      break;
    }
    if (!is_binary(node.op)) {
      return "?";
    }
    const auto [sign, own] = sign_of(node.op);
    std::string text = print(node.a, own) + " " + std::string(sign) + " " + print(node.b, own + 1);
    return own < rank ? "(" + text + ")" : text;
  }

 private:
  std::string list(const Node& node) const {
    std::string text;
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      text += (i == 0 ? "" : ", ") + print(pool_.operand(node, i), 0);
    }
    return text;
  }
  static std::pair<std::string_view, int> sign_of(Op op) {
    switch (op) {
    case Op::or_:
      return {"or", 1};
    case Op::and_:
      return {"and", 2};
    case Op::eq:
      return {"==", 3};
    case Op::ne:
      return {"!=", 3};
    case Op::lt:
      return {"<", 3};
    case Op::le:
      return {"<=", 3};
    case Op::gt:
      return {">", 3};
    case Op::ge:
      return {">=", 3};
    case Op::add:
      return {"+", 4};
    case Op::sub:
      return {"-", 4};
    case Op::mul:
      return {"*", 5};
    case Op::div:
      return {"/", 5};
    case Op::floordiv:
      return {"//", 5};
    default:
      return {"%", 5};
    }
  }

  const Pool& pool_;
  const NameOf& name_of_;
};

}  // namespace detail

/// `name_of(number)` is the name of a variable.
template <class NameOf>
std::string expression_text(const Pool& pool, Ref ref, const NameOf& name_of) {
  return detail::ExpressionText<NameOf>(pool, name_of).print(ref, 0);
}

}  // namespace tensorsmith::algebra
