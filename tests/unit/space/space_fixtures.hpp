// SPDX-License-Identifier: Apache-2.0
// Random spaces of variables, with every assignment written down: what the tests of space/ compare
// with.
#pragma once

#include <set>
#include <vector>

#include "tensorsmith/space/sample.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

/// A few variables of every kind, chains and constraints. Small enough to be enumerated.
inline VariableSpace random_space(CounterRng& rng) {
  VariableSpace space;
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(rng.next_below(n)); };
  std::vector<VariableId> all;
  const std::int64_t extents[] = {1, 6, 7, 12, 16, 24, 30};
  for (std::int64_t c = 1 + below(2); c > 0; --c) {
    std::vector<std::int64_t> roots = {extents[below(7)]};
    if (below(2) == 0) {
      roots.push_back(roots.front() + 1 + below(3));
    }
    const auto lengths = space.add_chain("C" + std::to_string(c), roots,
                                         static_cast<std::size_t>(1 + below(3)), 1 + below(16));
    all.insert(all.end(), lengths.begin(), lengths.end());
  }
  for (std::int64_t v = below(4); v > 0; --v) {
    const std::string name = "v" + std::to_string(v);
    const Domain domains[] = {Domain::flag(), Domain::list({0, 16, 64, 512}),
                              Domain::interval(static_cast<std::int32_t>(below(5)) - 3, 4),
                              Domain::divisors_of(12)};
    const auto which = static_cast<std::size_t>(below(4));
    all.push_back(
        space.add(name, static_cast<VariableRole>(below(num_variable_roles)), domains[which]));
  }
  const auto any = [&] {
    return space.expr(all[rng.next_below(static_cast<std::uint32_t>(all.size()))]);
  };
  ExprPool& pool = space.pool();
  const auto number = [&] {
    const BinaryOp ops[] = {BinaryOp::add,      BinaryOp::sub,      BinaryOp::mul, BinaryOp::mul,
                            BinaryOp::floordiv, BinaryOp::floormod, BinaryOp::min, BinaryOp::max,
                            BinaryOp::div,      BinaryOp::truncmod};
    ExprId value = any();
    for (std::int64_t n = below(4); n > 0; --n) {
      const ExprId other = below(3) == 0 ? space.number(below(12) - 3) : any();
      value = pool.binary(ops[below(10)], value, other);
    }
    return below(6) == 0 ? pool.unary(UnaryOp::neg, value) : value;
  };
  const auto compared = [&] {
    const BinaryOp ops[] = {BinaryOp::le, BinaryOp::le, BinaryOp::lt, BinaryOp::ge,
                            BinaryOp::gt, BinaryOp::eq, BinaryOp::ne};
    const ExprId limit = below(3) == 0 ? any() : space.number(below(40));
    const ExprId value = number();
    return pool.binary(ops[below(7)], value, limit);
  };
  for (std::int64_t c = below(4); c > 0; --c) {
    const ExprId a = compared(), b = compared(), third = compared(), listed_value = number(),
                 divisor = any();
    const std::vector<std::int64_t> listed = {below(4), 4 + below(4), 8 + below(30)};
    const ExprId conditions[] = {a,
                                 b,
                                 pool.and_(a, b),
                                 pool.binary(BinaryOp::or_, a, b),
                                 space.implies(a, b),
                                 pool.select(a, b, third),
                                 pool.unary(UnaryOp::not_, a),
                                 space.is_in(listed_value, listed),
                                 space.divides(divisor, space.number(24))};
    space.require(conditions[below(9)],
                  below(4) == 0 ? ConstraintKind::preference
                                : static_cast<ConstraintKind>(below(2)),
                  "constraint " + std::to_string(c));
  }
  return space;
}

/// What an expression is, by the definition of every operation.
inline std::int64_t plain_value(const ExprPool& pool, ExprId id, const Assignment& values) {
  const ExprNode& node = pool[id];
  const auto of = [&](ExprId child) { return plain_value(pool, child, values); };
  if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
    return imm->value;
  }
  if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
    return values[VariableId{ref->var.value}];
  }
  if (const Unary* unary = std::get_if<Unary>(&node.op)) {
    return unary->op == UnaryOp::neg ? -of(unary->a) : of(unary->a) == 0 ? 1 : 0;
  }
  if (const Select* select = std::get_if<Select>(&node.op)) {
    return of(select->condition) != 0 ? of(select->if_true) : of(select->if_false);
  }
  const Binary& binary = std::get<Binary>(node.op);
  const std::int64_t a = of(binary.a), b = of(binary.b);
  const bool is_division = binary.op == BinaryOp::div || binary.op == BinaryOp::floordiv;
  const bool is_rest = binary.op == BinaryOp::truncmod || binary.op == BinaryOp::floormod;
  if (b == 0 && (is_division || is_rest)) {
    return is_division ? 0 : a;
  }
  return apply_binary(binary.op, DType::i64, scalar_of(a), scalar_of(b))->integer;
}

/// All legal assignments, by trying all there are.
inline std::vector<Assignment> all_legal(const VariableSpace& space) {
  std::vector<Assignment> found;
  Assignment values(space.size());
  const auto is_legal = [&] {
    for (const LengthChain& chain : space.chains()) {
      std::int64_t product = 1;
      for (VariableId id : chain.lengths) {
        product *= values[id];
      }
      if (!chain.allows(product)) {
        return false;
      }
    }
    return all_items(space.constraints(), [&](const SpaceConstraint& constraint) {
      return !is_binding(constraint.kind) ||
             plain_value(space.pool(), constraint.condition, values) != 0;
    });
  };
  const auto extend = [&](const auto& self, std::uint32_t at) -> void {
    if (at == space.size()) {
      if (is_legal()) {
        found.push_back(values);
      }
      return;
    }
    for (std::int32_t value : space[VariableId{at}].domain.values()) {
      values[VariableId{at}] = value;
      self(self, at + 1);
    }
  };
  extend(extend, 0);
  return found;
}

}  // namespace tensorsmith::test
