// SPDX-License-Identifier: Apache-2.0
// Element arithmetic as text of the C family.
//
// Floor 5. Part of c_like.hpp. Own design. Every operation in the order of the program; integers
// wrap by functions of the prelude, functions have the names of the dialect.
#pragma once

#include <string>

#include "tensorsmith/codegen/c_like.hpp"

namespace tensorsmith {

inline CText CLikePrinter::value_of_node(ExprId id) const {
  const ExprPool& pool = program_.pool;
  const DType type = pool.dtype(id);
  return std::visit(
      Overloaded{[&](const IntImm& n) {
                   return CText{c_integer(n.value, type, dialect_),
                                n.value < 0 ? CText::unary : CText::atom};
                 },
                 [&](const FloatImm& n) {
                   return CText{c_float(n.value, type, dialect_), CText::atom};
                 },
                 [&](const VarRef&) { return linear(id).print(); },
                 [&](const Unary& n) {
                   if (n.op == UnaryOp::not_) {
                     return CText{"!" + value(n.a).within(CText::unary), CText::unary};
                   }
                   if (is_integer(type)) {
                     return CText{"wrap_sub<" + type_text(type) + ">(0, " + value(n.a).text + ")"};
                   }
                   return CText{"-" + value(n.a).within(CText::atom), CText::unary};
                 },
                 [&](const Binary& n) { return binary_text(n, type); },
                 [&](const Select& n) {
                   return CText{value(n.condition).within(CText::or_) + " ? " +
                                    value(n.if_true).within(CText::or_) + " : " +
                                    value(n.if_false).within(CText::or_),
                                CText::ternary};
                 },
                 [&](const Cast& n) {
                   const std::string inner = value(n.a).text;
                   if (type == DType::boolean) {
                     return CText{"(" + inner + ") != 0", CText::compare};
                   }
                   const char* open = type == DType::f16    ? "from_f16(to_f16("
                                      : type == DType::bf16 ? "from_bf16(to_bf16("
                                                            : nullptr;
                   if (open != nullptr) {
                     return CText{open + inner + "))"};
                   }
                   return CText{"static_cast<" + type_text(type) + ">(" + inner + ")"};
                 },
                 [&](const Call& n) { return call_text(n, type); },
                 [&](const Load& n) { return load(n); },
                 [&](const TensorRead&) -> CText {
                   TENSORSMITH_ASSERT(false, "tensor read in a loop program");
                   return {};
                 },
                 [&](const Reduce&) -> CText {
                   TENSORSMITH_ASSERT(false, "reduction in a loop program");
                   return {};
                 }},
      pool[id].op);
}

inline CText CLikePrinter::binary_text(const Binary& node, DType type) const {
  const CText a = value(node.a), b = value(node.b);
  const DType operand = program_.pool.dtype(node.a);
  const auto call = [&](std::string name, bool typed) {
    if (typed) {
      name += "<" + type_text(operand) + ">";
    }
    return CText{name + "(" + a.text + ", " + b.text + ")"};
  };
  const auto infix = [&](const char* text, CText::Strength strength) {
    const auto right = static_cast<CText::Strength>(strength + 1);
    return CText{a.within(strength) + " " + text + " " + b.within(right), strength};
  };
  const bool wraps = is_integer(type) && !(is_index(node.a) && is_index(node.b));
  switch (node.op) {
  case BinaryOp::add:
    return wraps ? call("wrap_add", true) : infix("+", CText::add);
  case BinaryOp::sub:
    return wraps ? call("wrap_sub", true) : infix("-", CText::add);
  case BinaryOp::mul:
    return wraps ? call("wrap_mul", true) : infix("*", CText::mul);
  case BinaryOp::div:
    return wraps
               ? CText{"static_cast<" + type_text(type) + ">(" + infix("/", CText::mul).text + ")"}
               : infix("/", CText::mul);
  case BinaryOp::truncmod:
    return is_float(operand) ? call(math_name("fmod", operand), false) : infix("%", CText::mul);
  case BinaryOp::floordiv:
    if (is_float(operand)) {
      return {math_name("floor", operand) + "(" + infix("/", CText::mul).text + ")"};
    }
    return call("floor_div", false);
  case BinaryOp::floormod:
    if (is_float(operand)) {
      return call("float_floor_mod", true);
    }
    return call("floor_mod", false);
  case BinaryOp::min:
  case BinaryOp::max: {
    const std::string name = node.op == BinaryOp::min ? "min" : "max";
    if (is_cuda() && is_float(operand)) {  // one instruction, NaN as ours
      return call(math_name(node.op == BinaryOp::min ? "fmin" : "fmax", operand), false);
    }
    return is_index(node.a) ? call(name + "_of<" + std::string(index_type_) + ">", false)
                            : call(name + "_of", true);
  }
  case BinaryOp::and_:
    return {a.within(CText::compare) + " && " + b.within(CText::compare), CText::and_};
  case BinaryOp::or_:
    return {a.within(CText::compare) + " || " + b.within(CText::compare), CText::or_};
  default: {
    const std::string text(text_of(node.op));
    return {a.within(CText::add) + " " + text + " " + b.within(CText::add), CText::compare};
  }
  }
}

inline CText CLikePrinter::call_text(const Call& node, DType type) const {
  const CText a = value(node.args[0]);
  if (!is_cuda() && type != DType::f64 && is_own_function(node.op)) {
    return {std::string(name_of(node.op)) + "_of(" + a.text + ")"};
  }
  const std::string one = type == DType::f64 ? "1.0" : "1.0f";
  switch (node.op) {
  case CallOp::if_then_else: {
    if (const auto known = constant(node.args[0])) {
      return value(node.args[*known != 0 ? 1 : 2]);
    }
    return {a.within(CText::or_) + " ? " + value(node.args[1]).within(CText::or_) + " : " +
                value(node.args[2]).within(CText::or_),
            CText::ternary};
  }
  case CallOp::rsqrt:
    return is_cuda() ? CText{math_name("rsqrt", type) + "(" + a.text + ")"}
                     : CText{one + " / std::sqrt(" + a.text + ")", CText::mul};
  case CallOp::sigmoid:
    return {(is_cuda() ? "sigmoid_of(" : "sigmoid_of_double(") + a.text + ")"};
  case CallOp::pow:
    return {math_name("pow", type) + "(" + a.text + ", " + value(node.args[1]).text + ")"};
  case CallOp::round:
    return {math_name(is_cuda() ? "rint" : "nearbyint", type) + "(" + a.text + ")"};
  case CallOp::abs:
    return {(!is_float(type) ? "abs_of<" + type_text(type) + ">("
             : is_cuda()     ? math_name("fabs", type) + "("
                             : "std::abs(") +
            a.text + ")"};
  default:
    return {math_name(name_of(node.op), type) + "(" + a.text + ")"};
  }
}

}  // namespace tensorsmith
