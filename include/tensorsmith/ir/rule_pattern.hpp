// SPDX-License-Identifier: Apache-2.0
// Patterns of rewrite rules: types that can match an expression, build one, or be run on numbers.
//
// Floor 1. Own design; that the same rule serves the simplifier and its tester is slinky's idea.
// A pattern has no state: x + c0 is a type. Operands of commutative operators match in both orders.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorsmith/ir/interval.hpp"

namespace tensorsmith::detail {

struct Pattern {};
template <int N>
struct Wild : Pattern {};  ///< any expression, the same one at every place
template <int N>
struct Const : Pattern {};  ///< any integer constant, the same one at every place
template <std::int64_t Value>
struct Lit : Pattern {};  ///< this number, integer or real
template <bool Value>
struct Flag : Pattern {};  ///< true or false
template <BinaryOp Op, class A, class B>
struct Bin : Pattern {};
template <class A>
struct Not : Pattern {};
template <class C, class A, class B, bool IsLazy>
struct Choice : Pattern {};  ///< select, or if_then_else where lazy

template <class A>
constexpr bool is_pattern = std::is_base_of_v<Pattern, A>;

template <class A, class B>
constexpr bool are_patterns = is_pattern<A>&& is_pattern<B>;

#define TENSORSMITH_PATTERN_OPERATOR(symbol, op)                                                   \
  template <class A, class B, class = std::enable_if_t<are_patterns<A, B>>>                        \
  constexpr Bin<BinaryOp::op, A, B> operator symbol(A, B) {                                        \
    return {};                                                                                     \
  }
TENSORSMITH_PATTERN_OPERATOR(+, add)
TENSORSMITH_PATTERN_OPERATOR(-, sub)
TENSORSMITH_PATTERN_OPERATOR(*, mul)
TENSORSMITH_PATTERN_OPERATOR(==, eq)
TENSORSMITH_PATTERN_OPERATOR(!=, ne)
TENSORSMITH_PATTERN_OPERATOR(<, lt)
TENSORSMITH_PATTERN_OPERATOR(<=, le)
TENSORSMITH_PATTERN_OPERATOR(>, gt)
TENSORSMITH_PATTERN_OPERATOR(>=, ge)
TENSORSMITH_PATTERN_OPERATOR(&&, and_)
TENSORSMITH_PATTERN_OPERATOR(||, or_)
#undef TENSORSMITH_PATTERN_OPERATOR

template <class A, class = std::enable_if_t<is_pattern<A>>>
constexpr Not<A> operator!(A) {
  return {};
}
/// Operators without a symbol: op<BinaryOp::min>(x, y).
template <BinaryOp Op, class A, class B>
constexpr Bin<Op, A, B> op(A, B) {
  return {};
}
template <class C, class A, class B>
constexpr Choice<C, A, B, false> choose(C, A, B) {
  return {};
}
template <class C, class A, class B>
constexpr Choice<C, A, B, true> choose_lazily(C, A, B) {
  return {};
}

constexpr bool is_commutative(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::mul || op == BinaryOp::min || op == BinaryOp::max ||
         op == BinaryOp::eq || op == BinaryOp::ne || op == BinaryOp::and_ || op == BinaryOp::or_;
}

/// What the variables of a pattern stand for in one match.
struct RuleMatch {
  ExprId wild[4] = {};
  std::int64_t constant[3] = {};
  bool has_constant[3] = {};
  DType number_type = DType::i32;  ///< of the operands that are not boolean
};

class RuleMatcher {
 public:
  explicit RuleMatcher(const ExprPool& pool) : pool_(pool) {}
  RuleMatch found;

  template <int N>
  bool operator()(Wild<N>, ExprId id) {
    note(id);
    if (found.wild[N].valid()) {
      return found.wild[N] == id;
    }
    found.wild[N] = id;
    return true;
  }
  template <int N>
  bool operator()(Const<N>, ExprId id) {
    const IntImm* imm = pool_.as<IntImm>(id);
    note(id);
    if (imm == nullptr || pool_.dtype(id) == DType::boolean ||
        (found.has_constant[N] && found.constant[N] != imm->value)) {
      return false;
    }
    found.constant[N] = imm->value;
    found.has_constant[N] = true;
    return true;
  }
  template <std::int64_t Value>
  bool operator()(Lit<Value>, ExprId id) {
    note(id);
    if (const FloatImm* real = pool_.as<FloatImm>(id)) {
      return *real == FloatImm{static_cast<double>(Value)};
    }
    const IntImm* imm = pool_.as<IntImm>(id);
    return imm != nullptr && imm->value == Value && pool_.dtype(id) != DType::boolean;
  }
  template <bool Value>
  bool operator()(Flag<Value>, ExprId id) {
    const IntImm* imm = pool_.as<IntImm>(id);
    return imm != nullptr && pool_.dtype(id) == DType::boolean && (imm->value != 0) == Value;
  }
  template <BinaryOp Op, class A, class B>
  bool operator()(Bin<Op, A, B>, ExprId id) {
    const Binary* n = pool_.as<Binary>(id);
    if (n == nullptr || n->op != Op) {
      return false;
    }
    const RuleMatch before = found;
    if ((*this)(A{}, n->a) && (*this)(B{}, n->b)) {
      return true;
    }
    found = before;
    return is_commutative(Op) && (*this)(A{}, n->b) && (*this)(B{}, n->a);
  }
  template <class A>
  bool operator()(Not<A>, ExprId id) {
    const Unary* n = pool_.as<Unary>(id);
    return n != nullptr && n->op == UnaryOp::not_ && (*this)(A{}, n->a);
  }
  template <class C, class A, class B, bool IsLazy>
  bool operator()(Choice<C, A, B, IsLazy>, ExprId id) {
    if constexpr (IsLazy) {
      const Call* n = pool_.as<Call>(id);
      return n != nullptr && n->op == CallOp::if_then_else && (*this)(C{}, n->args[0]) &&
             (*this)(A{}, n->args[1]) && (*this)(B{}, n->args[2]);
    } else {
      const Select* n = pool_.as<Select>(id);
      return n != nullptr && (*this)(C{}, n->condition) && (*this)(A{}, n->if_true) &&
             (*this)(B{}, n->if_false);
    }
  }

 private:
  void note(ExprId id) {
    if (pool_.dtype(id) != DType::boolean) {
      found.number_type = pool_.dtype(id);
    }
  }
  const ExprPool& pool_;
};

class RuleBuilder {
 public:
  RuleBuilder(ExprPool& pool, const RuleMatch& match) : pool_(pool), match_(match) {}

  template <int N>
  ExprId operator()(Wild<N>) const {
    return match_.wild[N];
  }
  template <int N>
  ExprId operator()(Const<N>) const {
    return number(match_.constant[N]);
  }
  template <std::int64_t Value>
  ExprId operator()(Lit<Value>) const {
    return number(Value);
  }
  template <bool Value>
  ExprId operator()(Flag<Value>) const {
    return pool_.int_imm(Value ? 1 : 0, DType::boolean);
  }
  template <BinaryOp Op, class A, class B>
  ExprId operator()(Bin<Op, A, B>) const {
    const ExprId a = (*this)(A{});
    return pool_.binary(Op, a, (*this)(B{}));
  }
  template <class A>
  ExprId operator()(Not<A>) const {
    return pool_.unary(UnaryOp::not_, (*this)(A{}));
  }
  template <class C, class A, class B, bool IsLazy>
  ExprId operator()(Choice<C, A, B, IsLazy>) const {
    const ExprId condition = (*this)(C{}), a = (*this)(A{}), b = (*this)(B{});
    return IsLazy ? pool_.if_then_else(condition, a, b) : pool_.select(condition, a, b);
  }

 private:
  ExprId number(std::int64_t value) const {
    return is_float(match_.number_type)
               ? pool_.float_imm(static_cast<double>(value), match_.number_type)
               : pool_.int_imm(value, match_.number_type);
  }
  ExprPool& pool_;
  const RuleMatch& match_;
};

}  // namespace tensorsmith::detail
