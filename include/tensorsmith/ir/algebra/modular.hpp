// SPDX-License-Identifier: Apache-2.0
// ModularSets: that an expression is base + any multiple of coefficient.
//
// Floor 1. Own design; the precision is that of the reference. coefficient 0: it is the base;
// coefficient 1: nothing is known.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/ir/algebra/remembered.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith::algebra {

struct ModularSet {
  std::int64_t coefficient = 1, base = 0;
  bool operator==(const ModularSet&) const = default;

  static ModularSet of(std::int64_t coefficient, std::int64_t base) {
    if (coefficient < 0) {
      coefficient = -coefficient;
      base = -base;
    }
    return {coefficient, coefficient == 0 ? base : floor_mod(base, coefficient)};
  }
};

class ModularSets {
 public:
  ModularSets(const Pool& pool, Remembered<ModularSet>& known)
      : pool_(pool), known_(known), version_(pool.new_version()) {}

  void bind(std::int32_t var, ModularSet set) {
    const auto at = static_cast<std::size_t>(var);
    if (at >= last_of_var_.size()) {
      last_of_var_.resize(pool_.num_vars(), -1);
    }
    bound_.push_back({var, last_of_var_[at], set});
    last_of_var_[at] = static_cast<std::int32_t>(bound_.size()) - 1;
    version_ = pool_.new_version();
  }
  std::size_t num_bound() const { return bound_.size(); }
  /// Back to the first `count` that were bound.
  void drop(std::size_t count) {
    if (count == bound_.size()) {
      return;
    }
    for (; bound_.size() > count; bound_.pop_back()) {
      last_of_var_[static_cast<std::size_t>(bound_.back().var)] = bound_.back().before;
    }
    version_ = pool_.new_version();
  }
  /// What a condition adds to what is known of `var`.
  void narrow(std::int32_t var, ModularSet set) { bind(var, intersection(of_var(var), set)); }

  ModularSet operator()(Ref ref) const {
    const Node& node = pool_[ref];
    if (node.op == Op::integer) {
      return {0, node.value};
    }
    if (node.op == Op::var) {
      return of_var(static_cast<std::int32_t>(node.value));
    }
    if (const ModularSet* known = known_.find(ref, version_)) {
      return *known;
    }
    const ModularSet set = of_operation(node);
    known_.set(ref, version_, set);
    return set;
  }

 private:
  ModularSet of_operation(const Node& node) const {
    switch (node.op) {
    case Op::cast:
      return (*this)(node.a);
    case Op::add:
    case Op::sub: {
      const ModularSet a = (*this)(node.a), b = (*this)(node.b);
      return ModularSet::of(gcd(a.coefficient, b.coefficient), node.op == Op::add
                                                                   ? wrapping_add(a.base, b.base)
                                                                   : wrapping_sub(a.base, b.base));
    }
    case Op::mul: {
      const ModularSet a = (*this)(node.a), b = (*this)(node.b);
      const std::int64_t both = wrapping_mul(a.coefficient, b.coefficient);
      const std::int64_t left = wrapping_mul(a.coefficient, b.base);
      const std::int64_t right = wrapping_mul(a.base, b.coefficient);
      return ModularSet::of(gcd(both, gcd(left, right)), wrapping_mul(a.base, b.base));
    }
    case Op::floordiv:
      return quotient(node);
    case Op::floormod:
      return remainder(node);
    case Op::min:
    case Op::max:
      return hull((*this)(node.a), (*this)(node.b));
    case Op::select:
      return hull((*this)(node.b), (*this)(node.c));
    default:
      return {};
    }
  }
  ModularSet of_var(std::int32_t var) const {
    const auto at = static_cast<std::size_t>(var);
    return at < last_of_var_.size() && last_of_var_[at] >= 0
               ? bound_[static_cast<std::size_t>(last_of_var_[at])].set
               : ModularSet{};
  }
  ModularSet quotient(const Node& node) const {
    const ModularSet b = (*this)(node.b);
    if (b.coefficient != 0 || b.base == 0) {
      return {};
    }
    const ModularSet a = (*this)(node.a);
    if (a.coefficient % b.base != 0) {
      return {};
    }
    if (a.base == 0) {
      const std::int64_t c = a.coefficient / b.base;
      return {c < 0 ? -c : c, 0};
    }
    return a.base > 0 && b.base > 0 ? ModularSet::of(a.coefficient / b.base, a.base / b.base)
                                    : ModularSet{};
  }
  ModularSet remainder(const Node& node) const {
    const ModularSet b = (*this)(node.b);
    if (b.coefficient != 0 || b.base == 0) {
      return {};
    }
    const ModularSet a = (*this)(node.a);
    const std::int64_t c = gcd(a.coefficient, b.base);
    return a.base % c == 0 || a.base > 0 ? ModularSet::of(c, a.base % c) : ModularSet{};
  }
  static ModularSet hull(ModularSet a, ModularSet b) {
    const std::int64_t c = gcd(a.coefficient, b.coefficient);
    if (c == 0) {
      return a.base == b.base ? a : ModularSet{};
    }
    const std::int64_t x = a.base % c, y = b.base % c;
    return x == y ? ModularSet::of(c, x) : ModularSet::of(gcd(gcd(x, y), c), x);
  }
  /// Both hold; of two that cannot, the number 1, as the reference has it.
  static ModularSet intersection(ModularSet a, ModularSet b) {
    const std::int64_t c = gcd(a.coefficient, b.coefficient);
    const std::int64_t difference = b.base - a.base;
    if (c == 0 || difference % c != 0) {
      return c == 0 && difference == 0 ? a : ModularSet{0, 1};
    }
    // a.coefficient * p = difference modulo b.coefficient; p by counting, the numbers are small.
    const std::int64_t step = a.coefficient / c, modulus = b.coefficient / c;
    for (std::int64_t p = 0; p < (modulus == 0 ? 1 : modulus); ++p) {
      if (modulus == 0 || floor_mod(step * p - difference / c, modulus) == 0) {
        return ModularSet::of(step * b.coefficient, a.base + a.coefficient * p);
      }
    }
    return {0, 1};
  }

  const Pool& pool_;
  Remembered<ModularSet>& known_;  ///< shared by all that the pool has
  std::uint32_t version_;
  struct Binding {
    std::int32_t var, before;  ///< before: what was bound to it, in bound_; -1: nothing
    ModularSet set;
  };
  std::vector<Binding> bound_;
  std::vector<std::int32_t> last_of_var_;  ///< in bound_; -1: nothing is known of it
};

}  // namespace tensorsmith::algebra
