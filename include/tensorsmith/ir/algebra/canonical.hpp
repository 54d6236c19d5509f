// SPDX-License-Identifier: Apache-2.0
// CanonicalSimplifier: integer expressions by way of sums of splits.
//
// Floor 1. The way of the Ansor reference 0.16: sums, products with constants, quotients and
// remainders are put together as canonical_sum.hpp has them and written out where anything else
// needs them; a comparison takes out the common factor of what it compares. Everything else is done
// as the rewriter does it, on operands that are canonical.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/ir/algebra/canonical_sum.hpp"
#include "tensorsmith/ir/algebra/factors.hpp"
#include "tensorsmith/ir/algebra/rewriter.hpp"

namespace tensorsmith::algebra {

class CanonicalSimplifier final : public Rewriter {
 public:
  explicit CanonicalSimplifier(Facts& facts) : Rewriter(facts) {}

  Ref simplified(Ref ref) override { return visit(ref); }

 private:
  Ref visit(Ref ref) override {
    if (is_leaf(ref)) {
      return ref;
    }
    Remembered<Ref>& known = facts_.workspace.canonical;
    const std::uint32_t version = facts_.version;
    if (const Ref* done = known.find(ref, version)) {
      return *done;
    }
    const Ref result = out(form(ref));
    known.set(ref, version, result);
    return result;
  }
  const std::vector<Ref>& literals() const override { return none_; }

  Ref out(const Form& form) {
    if (const Ref* ref = std::get_if<Ref>(&form)) {
      return *ref;
    }
    if (const Split* split = std::get_if<Split>(&form)) {
      return written(pool_, *split, split->scale);
    }
    return written(pool_, std::get<Sum>(form));
  }
  /// An expression that is part of several others is put together twice at the most; what comes
  /// once, as nearly all do, is not kept.
  Form form(Ref ref) {
    if (is_leaf(ref)) {
      return ref;
    }
    Workspace& space = facts_.workspace;
    const std::uint32_t version = facts_.version;
    if (space.has_come.find(ref, version) == nullptr) {
      space.has_come.set(ref, version, true);
      return new_form(ref);
    }
    if (const std::uint32_t* known = space.form_of.find(ref, version)) {
      return space.forms[*known];
    }
    Form result = new_form(ref);
    space.form_of.set(ref, version, static_cast<std::uint32_t>(space.forms.size()));
    space.forms.push_back(result);
    return result;
  }
  Form new_form(Ref ref) {
    const Node node = pool_[ref];
    if (node.op == Op::lt) {
      return less(ref, node);
    }
    if (!is_index(node.dtype)) {
      return rewritten(ref);
    }
    switch (node.op) {
    case Op::add:
    case Op::sub:
      return sum(node);
    case Op::mul:
      return product(node);
    case Op::floordiv:
      return quotient(node);
    case Op::floormod:
      return remainder(node);
    case Op::cast:
      return cast(ref, node);
    default:
      return rewritten(ref);
    }
  }

  Split split_of(const Form& form) {
    if (const Split* split = std::get_if<Split>(&form)) {
      return *split;
    }
    if (const Sum* sum = std::get_if<Sum>(&form);
        sum != nullptr && sum->base == 0 && sum->terms.size() == 1) {
      return sum->terms[0];
    }
    Split made;
    made.index = out(form);
    return made;
  }
  Sum sum_of(Form form) {
    if (Sum* sum = std::get_if<Sum>(&form)) {
      return std::move(*sum);
    }
    Sum made;
    if (const Ref* ref = std::get_if<Ref>(&form)) {
      made.dtype = pool_.dtype(*ref);
      if (pool_.is_integer(*ref)) {
        made.base = pool_.value(*ref);
        return made;
      }
    } else {
      made.dtype = pool_.dtype(std::get<Split>(form).index);
    }
    made.terms.push_back(split_of(form));
    return made;
  }
  bool is_number(const Form& form, std::int64_t& value) const {
    const Ref* ref = std::get_if<Ref>(&form);
    if (ref == nullptr || !pool_.is_integer(*ref)) {
      return false;
    }
    value = pool_.value(*ref);
    return true;
  }
  /// Of what is a plain expression on both sides; no_ref: not constant.
  Ref folded(Op op, const Form& a, const Form& b) {
    // A sum or split stands for itself, so that only the other side can be a constant.
    const Ref* left = std::get_if<Ref>(&a);
    const Ref* right = std::get_if<Ref>(&b);
    return left != nullptr && right != nullptr ? pool_.fold(op, *left, *right) : no_ref;
  }

  Form sum(const Node& node) {
    Form a = form(node.a);
    const Form b = form(node.b);
    if (const Ref ref = folded(node.op, a, b); ref != no_ref) {
      return ref;
    }
    std::int64_t number = 0;
    const std::int64_t sign = node.op == Op::add ? 1 : -1;
    if (is_number(b, number) && number == 0) {
      return a;
    }
    if (is_number(a, number) && number == 0 && sign == 1) {
      return b;
    }
    Sum result = sum_of(std::move(a));
    if (is_number(b, number)) {
      result.base = wrapping_add(result.base, wrapping_mul(sign, number));
    } else if (const Sum* other = std::get_if<Sum>(&b)) {
      result.add(*other, sign);
    } else {
      result.add(split_of(b), sign);
    }
    return result;
  }
  Form product(const Node& node) {
    Form a = form(node.a), b = form(node.b);
    if (const Ref ref = folded(Op::mul, a, b); ref != no_ref) {
      return ref;
    }
    std::int64_t factor = 0;
    if (is_number(a, factor)) {
      std::swap(a, b);
    }
    if (is_number(b, factor)) {
      if (factor == 1) {
        return a;
      }
      if (factor == 0) {
        return b;
      }
      if (Sum* sum = std::get_if<Sum>(&a)) {
        sum->multiply(factor);
        return a;
      }
      Split split = split_of(a);
      split.scale = wrapping_mul(split.scale, factor);
      return split;
    }
    return normal_product(pool_, out(a), out(b));
  }

  // canonical_division.hpp
  Split as_floor(Split split);
  Split divided(Split split, std::int64_t divisor);
  Split reduced(Split split, std::int64_t modulus);
  bool is_rest(Ref ref, std::int64_t divisor) {
    return compare_number(ref, divisor) == Order::less && facts_.is_at_least(ref, 0);
  }
  bool is_within(const Form& form, std::int64_t divisor) {
    const Bound bound = facts_.bounds(out(form));
    return bound.min >= 0 && bound.max < divisor;
  }
  Form quotient(const Node& node);
  Form remainder(const Node& node);

  /// A wider type is pushed to the terms.
  Form cast(Ref ref, const Node& node) {
    Form value = form(node.a);
    if (!is_index(pool_.dtype(node.a)) || bytes_of(node.dtype) < bytes_of(pool_.dtype(node.a)) ||
        std::holds_alternative<Ref>(value)) {
      return rewritten(ref);
    }
    if (Split* split = std::get_if<Split>(&value)) {
      split->index = pool_.cast(node.dtype, split->index);
      return value;
    }
    Sum& sum = std::get<Sum>(value);
    sum.dtype = node.dtype;
    for (Split& term : sum.terms) {
      term.index = pool_.cast(node.dtype, term.index);
    }
    return value;
  }

  /// x * 8 + y < 16 becomes x < 2 where -8 < y < 8.
  Form less(Ref ref, const Node& node) {
    const Form difference = form(pool_.sub(node.a, node.b));
    const Sum* sum = std::get_if<Sum>(&difference);
    if (sum == nullptr) {
      return rewritten(ref);
    }
    std::int64_t factor = sum->base;
    bool any = false;
    for (const Split& term : sum->terms) {
      if (term.scale > 1 || term.scale < -1) {
        any = true;
        factor = gcd(factor, term.scale);
      }
    }
    factor = factor < 0 ? -factor : factor;
    if (!any || factor <= 1) {
      return rewritten(ref);
    }
    Parts parts = parted(*sum, factor);
    const Ref rest = written(pool_, parts.rest);
    const Ref zero = pool_.integer(0, sum->dtype);
    if (facts_.holds(pool_.binary(Op::lt, rest, pool_.like(zero, factor))) &&
        facts_.holds(pool_.binary(Op::gt, rest, pool_.like(zero, -factor)))) {
      parts.divisible.divide(factor);
      return form(pool_.binary(Op::lt, written(pool_, parts.divisible), zero));
    }
    if (parts.rest.terms.size() == 1) {
      const Split& term = parts.rest.terms[0];
      // An index without a modulus counts as one of modulus 2^63 - 1, and moduli have 32 bits
      // there.
      const std::int64_t lower = factor * term.lower;
      if (term.upper % lower == 0) {
        parts.divisible.divide(factor);
        const auto modulus = static_cast<std::int32_t>(
            static_cast<std::uint32_t>(static_cast<std::uint64_t>(term.upper / lower)));
        const Ref quotient = pool_.floordiv(term.index, pool_.like(zero, lower));
        const Ref reduced = pool_.floormod(quotient, pool_.like(zero, modulus));
        return form(
            pool_.binary(Op::lt, pool_.add(written(pool_, parts.divisible), reduced), zero));
      }
    }
    return rewritten(ref);
  }

  const std::vector<Ref> none_;
};

}  // namespace tensorsmith::algebra

#include "tensorsmith/ir/algebra/canonical_division.hpp"
