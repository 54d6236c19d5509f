// SPDX-License-Identifier: Apache-2.0
// The simplifier: constant folding, canonical sums, ranges, and the rule tables.
//
// Floor 1. Own design. Operands first, then the node until nothing applies, so the result is a
// fixed point. What evaluates without error before has the same value after (integers exactly;
// reals bit for bit). Equal affine index expressions become the same id. An index expression that
// is mixed with elements must fit its type. Variables count as index arithmetic, so bodies of
// combiners are not for it. Not here: statements, conditions of enclosing loops.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tensorsmith/ir/linear.hpp"
#include "tensorsmith/ir/simplify_rules.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith {
namespace detail {

class Simplifier {
 public:
  Simplifier(ExprPool& pool, const VarRanges& ranges) : pool_(pool), ranges_(ranges) {}

  ExprId operator()(ExprId id) {
    if (const std::uint32_t* found = done_.find(id.value)) {
      return ExprId{*found};
    }
    ++depth_;
    ExprId result = map_children(pool_, id, [this](ExprId child) { return (*this)(child); });
    // Every rule lowers a measure of the expression; the limit only guards against a mistake there.
    if (depth_ < 500) {
      const ExprId next = step(result);
      if (next != result) {
        result = (*this)(next);
      }
    }
    --depth_;
    done_.set(id.value, result.value);
    done_.set(result.value, result.value);
    return result;
  }

  IntervalFact fact(ExprId id) {
    if (const IntervalFact* found = facts_.find(id.value)) {
      return *found;
    }
    const IntervalFact result =
        interval_fact(pool_, id, ranges_, [this](ExprId child) { return fact(child); });
    facts_.set(id.value, result);
    return result;
  }

 private:
  /// What a rule is applied with: it rewrites the subject or says no.
  struct Rewriter {
    struct Always {
      template <class Match>
      bool operator()(const Match&) const {
        return true;
      }
    };
    struct View {
      const RuleMatch& match;
      Simplifier& self;
      std::int64_t c(std::size_t n) const { return match.constant[n]; }
      Interval range(std::size_t n) const { return self.fact(match.wild[n]).interval; }
    };
    template <class From, class To, class Condition = Always>
    bool operator()(From from, To to, Condition condition = {}) {
      RuleMatcher matcher(self.pool_);
      if (!matcher(from, subject) || !condition(View{matcher.found, self})) {
        return false;
      }
      subject = RuleBuilder(self.pool_, matcher.found)(to);
      return true;
    }
    Simplifier& self;
    ExprId subject;
  };

  bool is_index(ExprId id) { return is_index_type(pool_.dtype(id)) && !fact(id).has_element; }
  Interval interval(ExprId id) { return fact(id).interval; }
  Interval interval(const Linear& sum) {
    Interval total{sum.constant, sum.constant};
    for (const LinearTerm& term : sum.terms) {
      total = total + interval(term.atom) * Interval{term.coefficient, term.coefficient};
    }
    return total;
  }
  ExprId flag(bool value) { return pool_.int_imm(value ? 1 : 0, DType::boolean); }

  /// One rewrite of a node whose operands are simplified; the same id if there is none.
  ExprId step(ExprId id) {
    const ExprNode node = pool_[id];  // a copy: the pool grows
    if (std::holds_alternative<IntImm>(node.op) || std::holds_alternative<FloatImm>(node.op)) {
      return id;
    }
    if (const std::optional<ExprId> folded = fold(node)) {
      return *folded;
    }
    if (!is_float(node.dtype) && interval(id).is_point()) {
      return pool_.int_imm(interval(id).min, node.dtype);
    }
    if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      const bool rounds = node.dtype == DType::f16 || node.dtype == DType::bf16;
      return pool_.dtype(cast->a) == node.dtype && !rounds ? cast->a : id;
    }
    if (const Unary* n = std::get_if<Unary>(&node.op)) {
      return unary(id, *n);
    }
    if (const Binary* n = std::get_if<Binary>(&node.op)) {
      return binary(id, *n);
    }
    Rewriter rewriter{*this, id};
    rules::choice_rules(rewriter) ||
        (node.dtype == DType::boolean && rules::boolean_choice_rules(rewriter)) ||
        (is_integer(node.dtype) && rules::integer_choice_rules(rewriter));
    return rewriter.subject;
  }

  std::optional<Scalar> constant(ExprId id) const {
    if (const IntImm* imm = pool_.as<IntImm>(id)) {
      return scalar_of(imm->value);
    }
    if (const FloatImm* imm = pool_.as<FloatImm>(id)) {
      return scalar_of_real(round_arithmetic(imm->value, pool_.dtype(id)));
    }
    return std::nullopt;
  }
  /// The constant, unless it is a NaN or does not survive rounding to its type.
  std::optional<ExprId> constant_expr(Scalar value, DType type) {
    if (!is_float(type)) {
      return pool_.int_imm(value.integer, type);
    }
    if (!(round_real(value.real, type) == value.real)) {
      return std::nullopt;
    }
    return pool_.float_imm(value.real, type);
  }
  std::optional<ExprId> fold(const ExprNode& node) {
    if (const Binary* n = std::get_if<Binary>(&node.op)) {
      const auto a = constant(n->a), b = constant(n->b);
      if (a && b) {
        const DType operands = pool_.dtype(n->a);
        const auto value = apply_binary(n->op, operands, *a, *b, !is_index_type(operands));
        return value ? constant_expr(*value, node.dtype) : std::nullopt;
      }
    } else if (const Unary* u = std::get_if<Unary>(&node.op)) {
      if (const auto a = constant(u->a)) {
        return constant_expr(apply_unary(u->op, node.dtype, *a, !is_index_type(node.dtype)),
                             node.dtype);
      }
    } else if (const Cast* c = std::get_if<Cast>(&node.op)) {
      const auto a = constant(c->a);
      const DType from = pool_.dtype(c->a);
      if (a && (!is_float(from) || is_float(node.dtype) ||
                (a->real > -2147483649.0 && a->real < 2147483648.0 && bytes_of(node.dtype) >= 4))) {
        return constant_expr(cast_scalar(*a, from, node.dtype), node.dtype);
      }
    }
    return std::nullopt;
  }

  ExprId unary(ExprId id, const Unary& n) {
    if (n.op == UnaryOp::neg) {
      const Unary* inner = pool_.as<Unary>(n.a);
      if (is_float(pool_.dtype(id))) {
        return inner != nullptr && inner->op == UnaryOp::neg ? inner->a : id;
      }
      return canonical_sum(id);
    }
    Rewriter rewriter{*this, id};
    rules::logic_rules(rewriter) || (negates_integers(n.a) && rules::negation_rules(rewriter)) ||
        (negates_numbers(n.a) && rules::condition_rules(rewriter));
    return rewriter.subject;
  }
  bool negates_numbers(ExprId a) const {
    const Binary* n = pool_.as<Binary>(a);
    return n != nullptr && (n->op == BinaryOp::eq || n->op == BinaryOp::ne);
  }
  bool negates_integers(ExprId a) const {
    const Binary* n = pool_.as<Binary>(a);
    return n != nullptr && is_comparison(n->op) && !is_float(pool_.dtype(n->a));
  }

  ExprId binary(ExprId id, const Binary& n) {
    if (is_float(pool_.dtype(n.a))) {
      return real_binary(id);
    }
    if (pool_.dtype(n.a) == DType::boolean) {
      return boolean_binary(id, n);
    }
    if (n.op <= BinaryOp::mul) {
      return canonical_sum(id);
    }
    if (is_comparison(n.op)) {
      return comparison(id, n);
    }
    if (const ExprId swapped = ordered(id, n); swapped != id) {
      return swapped;
    }
    Rewriter rewriter{*this, id};
    if (n.op == BinaryOp::min || n.op == BinaryOp::max) {
      const ExprId decided = extremum(id, n);
      if (decided != id) {
        return decided;
      }
      rules::extremum_rules(rewriter) || rules::equal_operand_rules(rewriter);
      return rewriter.subject;
    }
    const bool exact = is_index(id);
    if (rules::integer_division_rules(rewriter) ||
        (exact && rules::index_division_rules(rewriter))) {
      return rewriter.subject;
    }
    return exact ? division(id, n) : id;
  }

  ExprId real_binary(ExprId id) {
    Rewriter rewriter{*this, id};
    rules::real_rules(rewriter) || rules::equal_operand_rules(rewriter) ||
        rules::comparison_order_rules(rewriter) || rules::real_comparison_order_rules(rewriter);
    return rewriter.subject;
  }

  ExprId boolean_binary(ExprId id, const Binary& n) {
    if (const ExprId swapped = ordered(id, n); swapped != id) {
      return swapped;
    }
    Rewriter rewriter{*this, id};
    rules::logic_rules(rewriter) || (compares_integers(n) && rules::condition_rules(rewriter));
    return rewriter.subject;
  }
  bool compares_integers(const Binary& n) const {
    const Binary* a = pool_.as<Binary>(n.a);
    return a != nullptr && is_comparison(a->op) && !is_float(pool_.dtype(a->a));
  }

  /// Commutative operators on integers and conditions: constants right, else ascending ids.
  ExprId ordered(ExprId id, const Binary& n) {
    const bool a_is_constant = constant(n.a).has_value(), b_is_constant = constant(n.b).has_value();
    const bool swap = a_is_constant != b_is_constant ? a_is_constant : n.b < n.a;
    return is_commutative(n.op) && swap ? pool_.binary(n.op, n.b, n.a) : id;
  }

  ExprId canonical_sum(ExprId id);
  void merge_quotients(Linear& sum);
  ExprId comparison(ExprId id, const Binary& n);
  ExprId extremum(ExprId id, const Binary& n);
  ExprId division(ExprId id, const Binary& n);

  ExprPool& pool_;
  const VarRanges& ranges_;
  HashMap<std::uint32_t, std::uint32_t> done_;
  HashMap<std::uint32_t, IntervalFact> facts_;
  int depth_ = 0;
};

}  // namespace detail
}  // namespace tensorsmith

#include "tensorsmith/ir/simplify_linear.hpp"

namespace tensorsmith {

/// The simplified expression. `ranges`: what is known of the variables in it.
inline ExprId simplify(ExprPool& pool, ExprId id, const VarRanges& ranges = {}) {
  return detail::Simplifier(pool, ranges)(id);
}

}  // namespace tensorsmith
