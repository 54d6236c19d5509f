// SPDX-License-Identifier: Apache-2.0
// Random expressions over a few variables and elements, and their values at a point.
//
// Test support. Loads have values that are a pure function of buffer and indices, so two
// expressions can be compared without any memory.
#pragma once

#include <bit>
#include <optional>
#include <vector>

#include "tensorsmith/ir/interval.hpp"
#include "tensorsmith/ir/value.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

/// Value of an expression at a point; nothing where evaluation is an error (division by zero).
struct ExprValue {
  const ExprPool& pool;
  std::vector<Scalar> vars = {};  // by VarId

  struct Fact {
    Scalar value;
    bool has_element;
  };
  std::optional<Scalar> operator()(ExprId id) const {
    const auto fact = walk(id);
    return fact ? std::optional(fact->value) : std::nullopt;
  }

 private:
  static std::int64_t bits(Scalar value, DType type) {
    return is_float(type) ? static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value.real))
                          : value.integer;
  }
  std::optional<Fact> walk(ExprId id) const {
    const ExprNode& node = pool[id];
    if (const IntImm* n = std::get_if<IntImm>(&node.op)) {
      return Fact{scalar_of(n->value), false};
    }
    if (const FloatImm* n = std::get_if<FloatImm>(&node.op)) {
      return Fact{scalar_of_real(round_real(n->value, node.dtype)), false};
    }
    if (const VarRef* n = std::get_if<VarRef>(&node.op)) {
      return Fact{vars[n->var.value], false};
    }
    std::vector<Fact> facts;
    bool has_element = false;
    const Call* call = std::get_if<Call>(&node.op);
    if (call != nullptr && call->op == CallOp::if_then_else) {
      const auto condition = walk(call->args[0]);
      return condition ? walk(call->args[condition->value.integer != 0 ? 1 : 2]) : std::nullopt;
    }
    bool is_good = true;
    std::uint64_t hash = 7;
    for_each_child(node, [&](ExprId child) {
      const auto fact = walk(child);
      is_good = is_good && fact.has_value();
      facts.push_back(fact.value_or(Fact{scalar_of(0), false}));
      has_element = has_element || facts.back().has_element;
      hash = hash_combine(hash,
                          static_cast<std::uint64_t>(bits(facts.back().value, pool.dtype(child))));
    });
    if (!is_good) {
      return std::nullopt;
    }
    if (const Load* n = std::get_if<Load>(&node.op)) {
      hash = hash_combine(hash, n->buffer.value);
      const std::int64_t value = static_cast<std::int64_t>(hash % 41) - 20;
      return Fact{cast_scalar(scalar_of(value), DType::i64, node.dtype), true};
    }
    const bool wraps = has_element || !is_index_type(node.dtype);
    if (const Unary* n = std::get_if<Unary>(&node.op)) {
      return Fact{apply_unary(n->op, node.dtype, facts[0].value, wraps), has_element};
    }
    if (const Binary* n = std::get_if<Binary>(&node.op)) {
      const DType operands = pool.dtype(n->a);
      const auto value = apply_binary(n->op, operands, facts[0].value, facts[1].value,
                                      has_element || !is_index_type(operands));
      return value ? std::optional(Fact{*value, has_element}) : std::nullopt;
    }
    if (std::holds_alternative<Select>(node.op)) {
      return Fact{facts[facts[0].value.integer != 0 ? 1 : 2].value, has_element};
    }
    if (const Cast* n = std::get_if<Cast>(&node.op)) {
      return Fact{cast_scalar(facts[0].value, pool.dtype(n->a), node.dtype), has_element};
    }
    return Fact{apply_call(call->op, node.dtype, facts[0].value, facts.back().value, wraps),
                has_element};
  }
};

/// Draws expressions of a wanted type and depth. Variables: i, j, k, n with small ranges.
class RandomExprs {
 public:
  RandomExprs(ExprPool& pool, CounterRng& rng) : pool_(pool), rng_(rng) {
    const std::int64_t bounds[][2] = {{0, 3}, {0, 7}, {-5, 6}, {0, 16}};
    const char* names[] = {"i", "j", "k", "n"};
    for (int v = 0; v < 4; ++v) {
      vars_.push_back(pool.new_var(names[v]));
      ranges_.set(vars_.back(), bounds[v][0], bounds[v][1]);
    }
  }
  const VarRanges& ranges() const { return ranges_; }
  const std::vector<VarId>& vars() const { return vars_; }

  /// Values of all variables inside their ranges.
  std::vector<Scalar> point() {
    std::vector<Scalar> values(pool_.num_vars(), scalar_of(0));
    for (VarId var : vars_) {
      const Interval range = ranges_[var];
      values[var.value] = scalar_of(
          range.min + rng_.next_below(static_cast<std::uint32_t>(range.max - range.min + 1)));
    }
    return values;
  }

  /// An expression of any type that the tests cover.
  ExprId any(int depth) {
    const DType types[] = {DType::i32, DType::i32, DType::boolean, DType::i8,
                           DType::u8,  DType::f32, DType::i64,     DType::f16};
    return expr(types[rng_.next_below(8)], depth, rng_.next_below(2) == 0);
  }
  ExprId expr(DType type, int depth, bool with_elements) {
    if (depth == 0 || rng_.next_below(8) == 0) {
      return leaf(type, with_elements);
    }
    const auto sub = [&] { return expr(type, depth - 1, with_elements); };
    const auto condition = [&] { return expr(DType::boolean, depth - 1, with_elements); };
    switch (rng_.next_below(10)) {
    case 0: {
      const ExprId c = condition(), a = sub();
      return pool_.select(c, a, sub());
    }
    case 1: {
      const ExprId c = condition(), a = sub();
      return pool_.if_then_else(c, a, sub());
    }
    case 2:
      return type == DType::boolean ? pool_.unary(UnaryOp::not_, sub())
                                    : pool_.unary(UnaryOp::neg, sub());
    default:
      break;
    }
    if (type == DType::boolean) {
      return logic(depth, with_elements);
    }
    if (is_float(type)) {
      const BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul,
                              BinaryOp::min, BinaryOp::max, BinaryOp::div};
      const ExprId a = sub();
      return pool_.binary(ops[rng_.next_below(6)], a, sub());
    }
    const BinaryOp ops[] = {BinaryOp::add, BinaryOp::add, BinaryOp::sub,
                            BinaryOp::mul, BinaryOp::min, BinaryOp::max};
    const ExprId a = sub();
    if (rng_.next_below(3) > 0) {
      return pool_.binary(ops[rng_.next_below(6)], a, sub());
    }
    const BinaryOp divisions[] = {BinaryOp::floordiv, BinaryOp::floormod, BinaryOp::floordiv,
                                  BinaryOp::floormod, BinaryOp::div,      BinaryOp::truncmod};
    const ExprId divisor =
        rng_.next_below(8) == 0 ? sub() : pool_.int_imm(1 + rng_.next_below(8), type);
    return pool_.binary(divisions[rng_.next_below(6)], a, divisor);
  }

 private:
  ExprId logic(int depth, bool with_elements) {
    if (rng_.next_below(2) == 0) {
      const ExprId a = expr(DType::boolean, depth - 1, with_elements);
      const BinaryOp ops[] = {BinaryOp::and_, BinaryOp::or_, BinaryOp::eq, BinaryOp::ne};
      return pool_.binary(ops[rng_.next_below(8) < 6 ? rng_.next_below(2) : 2 + rng_.next_below(2)],
                          a, expr(DType::boolean, depth - 1, with_elements));
    }
    const DType types[] = {DType::i32, DType::i32, DType::i8, DType::f32};
    const DType type = types[rng_.next_below(4)];
    const BinaryOp op =
        static_cast<BinaryOp>(static_cast<std::uint32_t>(BinaryOp::eq) + rng_.next_below(6));
    const ExprId a = expr(type, depth - 1, with_elements);
    return pool_.binary(op, a, expr(type, depth - 1, with_elements));
  }
  ExprId index_var() { return pool_.var(vars_[rng_.next_below(4)]); }
  ExprId leaf(DType type, bool with_elements) {
    if (with_elements && rng_.next_below(2) == 0) {
      return pool_.load(BufferId{rng_.next_below(2)}, type, {index_var()});
    }
    const std::int64_t number = static_cast<std::int64_t>(rng_.next_below(20)) - 6;
    if (type == DType::i32) {
      return rng_.next_below(3) > 0 ? index_var() : pool_.int_imm(number);
    }
    if (type == DType::boolean) {
      return rng_.next_below(3) > 0 ? pool_.lt(index_var(), pool_.int_imm(number))
                                    : pool_.int_imm(number & 1, type);
    }
    if (rng_.next_below(2) == 0) {
      return pool_.cast(type, index_var());
    }
    if (is_float(type)) {
      return pool_.float_imm(static_cast<double>(number) / 4, type);
    }
    return pool_.int_imm(wrap_integer(number, type), type);
  }

  ExprPool& pool_;
  CounterRng& rng_;
  std::vector<VarId> vars_;
  VarRanges ranges_;
};

}  // namespace tensorsmith::test
