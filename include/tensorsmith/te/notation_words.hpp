// SPDX-License-Identifier: Apache-2.0
// The words of index notation that its writer and its reader share.
//
// Floor 2. Own design.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/te/tensor.hpp"

namespace tensorsmith::te::detail {

/// Longer texts are neither written nor read.
constexpr std::size_t longest_notation = 1 << 20;
/// Operations inside of each other, which are read and written by recursion.
constexpr std::uint32_t deepest_notation = 800;

/// A reduction that every type has; `text` is what stands between result and formula.
struct NamedReduction {
  std::string_view text;
  Expr (*make)(Expr source, const ReduceAxes& axes);
};
inline constexpr NamedReduction named_reductions[] = {
    {"+=", [](Expr source, const ReduceAxes& axes) { return te::sum(source, axes); }},
    {"*=", [](Expr source, const ReduceAxes& axes) { return te::prod(source, axes); }},
    {"min=", [](Expr source, const ReduceAxes& axes) { return te::min(source, axes); }},
    {"max=", [](Expr source, const ReduceAxes& axes) { return te::max(source, axes); }},
    {"minimum=", [](Expr source, const ReduceAxes& axes) { return te::minimum(source, axes); }},
    {"maximum=", [](Expr source, const ReduceAxes& axes) { return te::maximum(source, axes); }},
};

/// How an operator is written; the greater `level`, the closer it binds. All lead from the left.
struct OperatorText {
  std::string_view text;
  int level = 0;
  bool is_infix = true;
};
constexpr OperatorText text_of_operator(BinaryOp op) {
  switch (op) {
  case BinaryOp::or_:
    return {"||", 1};
  case BinaryOp::and_:
    return {"&&", 2};
  case BinaryOp::eq:
  case BinaryOp::ne:
    return {text_of(op), 3};
  case BinaryOp::lt:
  case BinaryOp::le:
  case BinaryOp::gt:
  case BinaryOp::ge:
    return {text_of(op), 4};
  case BinaryOp::add:
  case BinaryOp::sub:
    return {text_of(op), 5};
  case BinaryOp::mul:
  case BinaryOp::div:
    return {text_of(op), 6};
  case BinaryOp::floordiv:
    return {"//", 6};
  case BinaryOp::floormod:
    return {"%", 6};
  default:
    return {text_of(op), 0, false};
  }
}
inline constexpr BinaryOp all_binary_ops[] = {
#define TENSORSMITH_BINARY(name, text, infix) BinaryOp::name,
#include "tensorsmith/ir/ops.def"
};
inline constexpr CallOp all_calls[] = {
#define TENSORSMITH_CALL(name, arity) CallOp::name,
#include "tensorsmith/ir/ops.def"
};

struct NamedList {
  std::string_view name;
  std::vector<std::string> OperationAttrs::*list;
};
inline constexpr NamedList named_lists[] = {
    {"layout_free_placeholders", &OperationAttrs::layout_free_placeholders},
    {"simplify_const_tensor_indices", &OperationAttrs::simplify_const_tensor_indices},
    {"always_unroll_inner", &OperationAttrs::always_unroll_inner},
    {"no_split_at_inner", &OperationAttrs::no_split_at_inner},
};

/// `x`, or `x_0`, `x_1`, ... of combiners of several results: accumulators; y: new values.
inline std::string combiner_variable(char side, std::size_t which, std::size_t count) {
  return std::string(1, side) + (count > 1 ? "_" + std::to_string(which) : "");
}

/// `A.bf16` is A of type bf16.
struct NameAndType {
  std::string name;
  DType type = DType::f32;
  bool has_type = false;
};
inline NameAndType split_type(const std::string& text) {
  const std::size_t point = text.rfind('.');
  if (point != std::string::npos && point > 0) {
    for (DType type : all_dtypes) {
      if (std::string_view(text).substr(point + 1) == name_of(type)) {
        return {text.substr(0, point), type, true};
      }
    }
  }
  return {text};
}

inline std::string notation_string(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result = "\"";
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code >= 0x7F) {
      result += std::string("\\x") + digits[code / 16] + digits[code % 16];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace tensorsmith::te::detail
