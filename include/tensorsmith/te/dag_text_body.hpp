// SPDX-License-Identifier: Apache-2.0
// The definitions of dag_text.hpp.
//
// Floor 2. Included by te/dag_text.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tensorsmith/support/text_writer.hpp"
#include "tensorsmith/te/dag_text.hpp"

namespace tensorsmith::te {

namespace detail {

/// The reference's name of a call.
inline std::string reference_call_name(CallOp op) {
  return "tir." + std::string(op == CallOp::abs ? std::string_view("fabs") : name_of(op));
}

class ReferencePrinter {
 public:
  explicit ReferencePrinter(const ComputeDag& dag) : dag_(dag), pool_(dag.pool()) {}

  std::string expr(ExprId id) const {
    const ExprNode& node = pool_[id];
    return std::visit(
        Overloaded{
            [&](const IntImm& n) {
              const std::string digits = std::to_string(n.value);
              return node.dtype == DType::i32 ? digits : "(" + type(node.dtype) + ")" + digits;
            },
            [&](const FloatImm& n) { return real(n.value, node.dtype); },
            [&](const VarRef& n) { return pool_.var_name(n.var); },
            [&](const Unary& n) {
              return n.op == UnaryOp::not_ ? "!" + expr(n.a)
                                           : "(" + zero(node.dtype) + " - " + expr(n.a) + ")";
            },
            [&](const Binary& n) { return binary(n); },
            [&](const Select& n) {
              return "select(" + expr(n.condition) + ", " + expr(n.if_true) + ", " +
                     expr(n.if_false) + ")";
            },
            [&](const Cast& n) { return type(node.dtype) + "(" + expr(n.a) + ")"; },
            [&](const Call& n) { return reference_call_name(n.op) + "(" + list(n.args) + ")"; },
            [&](const TensorRead& n) { return tensor(n.tensor) + "[" + list(n.indices) + "]"; },
            [&](const Load& n) {
              return "buffer" + std::to_string(n.buffer.value) + "[" + list(n.indices) + "]";
            },
            [&](const Reduce& n) { return "reduce(" + list(n.sources) + ")"; }},
        node.op);
  }

 private:
  static std::string type(DType dtype) { return std::string(reference_name_of(dtype)); }
  static std::string zero(DType dtype) {
    return is_float(dtype) ? real(0, dtype) : dtype == DType::i32 ? "0" : "(" + type(dtype) + ")0";
  }
  /// Six significant digits and a suffix for the width. The reference begins maxima with the least
  /// finite number and pads with it where we have -infinity: one text for both.
  static std::string real(double value, DType dtype) {
    if (math::is_infinite(value)) {
      value = (value < 0 ? -1 : 1) * largest_finite(dtype);
    }
    std::string text = text_of_real(value, 6);
    if (dtype == DType::f32) {
      text += 'f';
    } else if (dtype == DType::f16 || dtype == DType::bf16) {
      text += 'h';
    }
    return text;
  }
  static double largest_finite(DType dtype) {
    return dtype == DType::f64    ? 0x1.fffffffffffffp1023
           : dtype == DType::f16  ? 0x1.ffcp15
           : dtype == DType::bf16 ? 0x1.fep127
                                  : 0x1.fffffep127;
  }
  std::string tensor(TensorId id) const {
    const TensorInfo& info = dag_.tensor(id);
    const Operation& op = dag_.operation(info.operation);
    return op.outputs.size() > 1 ? op.name + ".v" + std::to_string(info.output_index) : op.name;
  }
  std::string list(const ExprList& items) const {
    std::string text;
    for (ExprId item : items) {
      text += (text.empty() ? "" : ", ") + expr(item);
    }
    return text;
  }
  std::string binary(const Binary& n) const {
    const std::string a = expr(n.a), b = expr(n.b);
    switch (n.op) {
    case BinaryOp::add:
    case BinaryOp::sub:
      return "(" + a + " " + std::string(text_of(n.op)) + " " + b + ")";
    case BinaryOp::mul:
    case BinaryOp::div:
      return "(" + a + std::string(text_of(n.op)) + b + ")";
    case BinaryOp::truncmod:
      return "(" + a + " % " + b + ")";
    case BinaryOp::and_:
      return "(" + a + " && " + b + ")";
    case BinaryOp::or_:
      return "(" + a + " || " + b + ")";
    default:
      break;
    }
    if (is_comparison(n.op)) {
      return "(" + a + " " + std::string(text_of(n.op)) + " " + b + ")";
    }
    return std::string(text_of(n.op)) + "(" + a + ", " + b + ")";
  }

  const ComputeDag& dag_;
  const ExprPool& pool_;
};

TENSORSMITH_INLINE std::string shape_list(const SmallVector<std::int64_t, 6>& shape) {
  std::string text;
  for (std::int64_t extent : shape) {
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  }
  return "[" + text + "]";
}

inline std::string reduction_text(const ReferencePrinter& print, const ExprPool& pool,
                                  const Reduce& reduce) {
  const ExprId result = pool.combiner(reduce.combiner).results[reduce.value_index];
  if (const Binary* binary = pool.as<Binary>(result)) {
    if (binary->op == BinaryOp::add) {
      return " += " + print.expr(reduce.sources[0]);
    }
    if (binary->op == BinaryOp::max || binary->op == BinaryOp::min) {
      return " " + std::string(text_of(binary->op)) + "= " + print.expr(reduce.sources[0]);
    }
  }
  if (const Select* select = pool.as<Select>(result);
      select != nullptr && reduce.sources.size() > 1) {
    return " select(" + print.expr(select->condition) + ", " + print.expr(select->if_true) + ", " +
           print.expr(select->if_false) + ")= (" + print.expr(reduce.sources[0]) + "," +
           print.expr(reduce.sources[1]) + ")";
  }
  return "reduce" + print.expr(result);
}

}  // namespace detail

TENSORSMITH_INLINE std::string dag_text(const ComputeDag& dag, bool simple) {
  const detail::ReferencePrinter print(dag);
  const ExprPool& pool = dag.pool();
  std::string text;
  for (const Operation& op : dag.operations()) {
    if (op.is_placeholder()) {
      text += op.name + " = PLACEHOLDER ";
      text += simple ? "" : detail::shape_list(dag.tensor(op.outputs[0]).shape);
      text += "\n";
      continue;
    }
    std::string axes;
    for (const Axis& axis : op.axes) {
      axes += (axes.empty() ? "" : ", ") + pool.var_name(axis.var);
    }
    for (std::size_t k = 0; k < op.bodies.size(); ++k) {
      text += op.name + "(" + axes + ")";
      text += op.bodies.size() > 1 ? ".v" + std::to_string(k) : "";
      const Call* call = pool.as<Call>(op.bodies[k]);
      if (const Reduce* reduce = pool.as<Reduce>(op.bodies[k])) {
        text += detail::reduction_text(print, pool, *reduce);
      } else if (simple && call != nullptr) {
        text += " = Op(" + detail::reference_call_name(call->op) + ")";
      } else {
        text += " = " + print.expr(op.bodies[k]);
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace tensorsmith::te
