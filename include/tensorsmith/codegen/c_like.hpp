// SPDX-License-Identifier: Apache-2.0
// CLikePrinter: expressions as text of the C family, shared by every printer of source.
//
// Floor 5. Own design. Index arithmetic is printed as a sum of terms, flattened and folded, so that
// a loop variable bound to a constant (an expanded loop) disappears from the text. Element
// arithmetic keeps the order of the program. Not here: statements, declarations, helper functions
// (cpp_source.hpp and its prelude).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/c_like_names.hpp"
#include "tensorsmith/codegen/c_like_text.hpp"
#include "tensorsmith/ir/flat_index.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith {

class CLikePrinter {
 public:
  explicit CLikePrinter(const LoopProgram& program, CDialect dialect = CDialect::cpp)
      : program_(program), dialect_(dialect) {}
  virtual ~CLikePrinter() = default;

  /// What a loop variable is: a name, a constant, or a sum of such.
  void bind(VarId var, LinearText value) {
    if (bindings_.size() <= var.value) {
      bindings_.resize(var.value + 1);
    }
    bindings_[var.value] = std::move(value);
  }

  const LinearText& bound(VarId var) const { return bindings_[var.value]; }

  /// An integer expression, exact in 64 bits.
  LinearText linear(ExprId id) const {
    const ExprPool& pool = program_.pool;
    LinearText result;
    if (const IntImm* imm = pool.as<IntImm>(id)) {
      result.constant = imm->value;
    } else if (const VarRef* ref = pool.as<VarRef>(id)) {
      TENSORSMITH_ASSERT(ref->var.value < bindings_.size(), "loop variable outside its loop");
      result = bindings_[ref->var.value];
    } else if (const Binary* binary = pool.as<Binary>(id)) {
      result = linear_binary(id, *binary);
    } else if (const Unary* unary = pool.as<Unary>(id); unary && unary->op == UnaryOp::neg) {
      result.add(linear(unary->a), -1);
    } else {
      result.add_term(opaque(id), 1);
    }
    return result;
  }

  /// Position of an element in its buffer.
  LinearText offset(BufferId id, const ExprList& indices) const {
    LinearText result;
    for (const FlatTerm& term : flat_index(program_.pool, indices, program_[id].strides)) {
      result.add(linear(term.index), term.coefficient);
    }
    return result;
  }

  /// The value of a condition or an index where it is the same in every iteration.
  std::optional<std::int64_t> constant(ExprId id) const {
    const ExprPool& pool = program_.pool;
    const Binary* binary = pool.as<Binary>(id);
    if (binary != nullptr && (binary->op == BinaryOp::and_ || binary->op == BinaryOp::or_)) {
      const std::int64_t decisive = binary->op == BinaryOp::or_ ? 1 : 0;
      const auto a = constant(binary->a), b = constant(binary->b);
      if ((a && *a == decisive) || (b && *b == decisive)) {
        return decisive;
      }
      return a && b ? std::optional<std::int64_t>(1 - decisive) : std::nullopt;
    }
    if (binary != nullptr && is_comparison(binary->op)) {
      if (!is_index(binary->a) || !is_index(binary->b)) {
        return std::nullopt;
      }
      LinearText difference = linear(binary->a);
      difference.add(linear(binary->b), -1);
      return difference.is_constant()
                 ? std::optional<std::int64_t>(holds(binary->op, difference.constant))
                 : std::nullopt;
    }
    if (pool.dtype(id) == DType::boolean || !is_index(id)) {
      const IntImm* imm = pool.as<IntImm>(id);
      return imm ? std::optional<std::int64_t>(imm->value) : std::nullopt;
    }
    const LinearText value = linear(id);
    return value.is_constant() ? std::optional<std::int64_t>(value.constant) : std::nullopt;
  }

  /// An expression in its own element type (f16 and bf16: as float; i32 without loads: 64 bits).
  CText value(ExprId id) const;

 protected:
  virtual CText load(const Load& node) const = 0;
  /// floordiv or floormod of an index by a positive constant: an atom.
  virtual std::string division_text(const LinearText& rest, bool is_div,
                                    std::int64_t divisor) const {
    return (is_div ? "floor_div(" : "floor_mod(") + rest.print().text + ", " +
           std::to_string(divisor) + ")";
  }
  /// Text that stands for an expression in place of its own.
  virtual const CText* replacement(ExprId id) const {
    (void)id;
    return nullptr;
  }
  std::string type_text(DType type) const { return std::string(c_type(type, dialect_)); }
  bool is_cuda() const { return dialect_ == CDialect::cuda; }
  /// Functions of f32 that exported C++ brings along (codegen/cpp_math.hpp).
  static bool is_own_function(CallOp op) {
    return op == CallOp::exp || op == CallOp::log || op == CallOp::tanh || op == CallOp::erf ||
           op == CallOp::sigmoid;
  }

  /// Integer arithmetic over loop variables and constants only: exact in 64 bits.
  bool is_index(ExprId id) const {
    const DType type = program_.pool.dtype(id);
    return (type == DType::i32 || type == DType::i64) && !has_load(program_.pool, id);
  }

  const LoopProgram& program_;
  const CDialect dialect_;
  /// The type of index arithmetic.
  std::string_view index_type_ = c_type(DType::i64, dialect_);

 private:
  static bool holds(BinaryOp op, std::int64_t difference) {
    switch (op) {
    case BinaryOp::eq:
      return difference == 0;
    case BinaryOp::ne:
      return difference != 0;
    case BinaryOp::lt:
      return difference < 0;
    case BinaryOp::le:
      return difference <= 0;
    case BinaryOp::gt:
      return difference > 0;
    default:
      return difference >= 0;
    }
  }
  LinearText linear_binary(ExprId id, const Binary& node) const;
  std::string opaque(ExprId id) const {
    const std::string text = value_of_node(id).within(CText::atom);
    return has_load(program_.pool, id)
               ? "static_cast<" + std::string(index_type_) + ">(" + text + ")"
               : text;
  }
  // c_like_values.hpp
  CText value_of_node(ExprId id) const;
  CText binary_text(const Binary& node, DType type) const;
  CText call_text(const Call& node, DType type) const;
  /// std::exp of C++; exp and expf of CUDA.
  std::string math_name(std::string_view name, DType type) const {
    return is_cuda() ? std::string(name) + (type == DType::f64 ? "" : "f")
                     : "std::" + std::string(name);
  }

  std::vector<LinearText> bindings_;
};

inline LinearText CLikePrinter::linear_binary(ExprId id, const Binary& node) const {
  LinearText a = linear(node.a);
  const LinearText b = linear(node.b);
  LinearText result;
  switch (node.op) {
  case BinaryOp::add:
    a.add(b, 1);
    return a;
  case BinaryOp::sub:
    a.add(b, -1);
    return a;
  case BinaryOp::mul:
    if (a.is_constant() || b.is_constant()) {
      result.add(a.is_constant() ? b : a, a.is_constant() ? a.constant : b.constant);
      return result;
    }
    break;
  case BinaryOp::floordiv:
  case BinaryOp::floormod:
    if (b.is_constant() && b.constant > 0) {
      const DividedText parts = divide(a, b.constant);
      const bool is_div = node.op == BinaryOp::floordiv;
      if (is_div) {
        result = parts.whole;
      }
      if (!parts.rest.is_constant()) {
        result.add_term(division_text(parts.rest, is_div, b.constant), 1);
      } else if (!is_div) {
        result.constant = parts.rest.constant;
      }
      return result;
    }
    break;
  case BinaryOp::min:
  case BinaryOp::max: {
    LinearText difference = a;
    difference.add(b, -1);
    if (difference.is_constant()) {
      return (difference.constant < 0) == (node.op == BinaryOp::min) ? a : b;
    }
    break;
  }
  default:
    break;
  }
  result.add_term(opaque(id), 1);
  return result;
}

inline CText CLikePrinter::value(ExprId id) const {
  if (const CText* text = replacement(id)) {
    return *text;
  }
  return is_index(id) ? linear(id).print() : value_of_node(id);
}

}  // namespace tensorsmith

#include "tensorsmith/codegen/c_like_values.hpp"
