// SPDX-License-Identifier: Apache-2.0
// Quotients and remainders of sums of splits.
//
// Floor 1. Part of canonical.hpp. The way of the Ansor reference 0.16: what the divisor divides is
// taken out of a sum, the rest is a split of its own unless it is smaller than the divisor.
//     (x * 8 + y) // 8  -->  x + y // 8          (x, where 0 <= y < 8)
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "tensorsmith/ir/algebra/canonical.hpp"

namespace tensorsmith::algebra {

inline Split CanonicalSimplifier::as_floor(Split split) {
  if (!split.is_floor && !split.is_whole()) {
    split = split_of(Form(out(Form(split))));
  }
  split.is_floor = true;
  return split;
}

inline Split CanonicalSimplifier::divided(Split split, std::int64_t divisor) {
  split = as_floor(split);
  if (split.scale % divisor == 0) {
    split.scale /= divisor;
    return split;
  }
  if (divisor % split.scale == 0) {
    const std::int64_t lower = split.lower * (divisor / split.scale);
    if (split.upper != unlimited && split.upper % lower != 0) {
      if (split.upper <= lower) {
        Split none;
        none.index = pool_.like(split.index, 0);
        return none;
      }
      split.index = pool_.floormod(split.index, pool_.like(split.index, split.upper));
      split.upper = unlimited;
    }
    split.scale = 1;
    split.lower = lower;
    return split;
  }
  Split whole = split_of(Form(out(Form(split))));
  whole.lower *= divisor;
  whole.is_floor = true;
  return whole;
}

inline Split CanonicalSimplifier::reduced(Split split, std::int64_t modulus) {
  split = as_floor(split);
  if (split.scale % modulus == 0) {
    split.scale = 0;
    return split;
  }
  if (modulus % split.scale == 0) {
    const std::int64_t upper = split.lower * (modulus / split.scale);
    if (split.upper == unlimited || split.upper % upper == 0) {
      if (upper < split.upper && split.upper != unlimited) {
        // A smaller modulus may simplify the index.
        Split again =
            split_of(Form(visit(pool_.floormod(split.index, pool_.like(split.index, upper)))));
        if (split.lower != 1) {
          again = divided(again, split.lower);
        }
        again.scale *= split.scale;
        return again;
      }
      split.upper = upper;
      return split;
    }
    if (upper % split.upper == 0) {
      return split;
    }
  }
  Split whole = split_of(Form(out(Form(split))));
  whole.is_floor = true;
  whole.upper = modulus;
  return whole;
}

inline Form CanonicalSimplifier::quotient(const Node& node) {
  Form a = form(node.a);
  const Form b = form(node.b);
  if (const Ref ref = folded(Op::floordiv, a, b); ref != no_ref) {
    return ref;
  }
  std::int64_t divisor = 0;
  if (is_number(a, divisor) && divisor == 0) {
    return a;
  }
  if (!is_number(b, divisor) || divisor <= 0) {
    return divided_by_factors(pool_, Op::floordiv, out(a), out(b));
  }
  if (divisor == 1) {
    return a;
  }
  if (const Sum* sum = std::get_if<Sum>(&a)) {
    Parts parts = parted(*sum, divisor);
    parts.divisible.divide(divisor);
    if (parts.rest.is_zero()) {
      return parts.divisible;
    }
    const Ref rest = written(pool_, parts.rest);
    if (pool_.is_integer(rest)) {
      parts.divisible.base += floor_div(pool_.value(rest), divisor);
    } else if (!is_rest(rest, divisor)) {
      parts.divisible.add(divided(split_of(Form(rest)), divisor), 1);
    }
    return parts.divisible;
  }
  if (is_within(a, divisor)) {
    return pool_.integer(0, node.dtype);
  }
  return divided(split_of(a), divisor);
}

inline Form CanonicalSimplifier::remainder(const Node& node) {
  Form a = form(node.a);
  const Form b = form(node.b);
  if (const Ref ref = folded(Op::floormod, a, b); ref != no_ref) {
    return ref;
  }
  std::int64_t divisor = 0;
  if (is_number(a, divisor) && divisor == 0) {
    return a;
  }
  if (!is_number(b, divisor) || divisor <= 0) {
    return divided_by_factors(pool_, Op::floormod, out(a), out(b));
  }
  if (divisor == 1) {
    return pool_.integer(0, node.dtype);
  }
  if (const Sum* sum = std::get_if<Sum>(&a)) {
    Sum rest = parted(*sum, divisor).rest;
    const Ref plain = written(pool_, rest);
    if (pool_.is_integer(plain)) {
      return pool_.integer(floor_mod(pool_.value(plain), divisor), node.dtype);
    }
    if (is_rest(plain, divisor)) {
      return plain;
    }
    rest.base = floor_mod(rest.base, divisor);
    return reduced(split_of(Form(std::move(rest))), divisor);
  }
  if (is_within(a, divisor)) {
    return a;
  }
  return reduced(split_of(a), divisor);
}

}  // namespace tensorsmith::algebra
