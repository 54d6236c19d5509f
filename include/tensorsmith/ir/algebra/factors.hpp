// SPDX-License-Identifier: Apache-2.0
// Products as lists of factors.
//
// Floor 1. As the canonical simplifier of the Ansor reference 0.16 writes what is no multiple of a
// constant.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith::algebra {

inline void collect_factors(const Pool& pool, Ref ref, std::vector<Ref>& factors,
                            std::int64_t& constant) {
  const Node node = pool[ref];
  if (node.op == Op::mul) {
    collect_factors(pool, node.a, factors, constant);
    collect_factors(pool, node.b, factors, constant);
  } else if (node.op == Op::integer) {
    constant *= node.value;
  } else {
    factors.push_back(ref);
  }
}

/// The constant factors come last, as one.
inline Ref normal_product(Pool& pool, Ref a, Ref b) {
  std::vector<Ref> factors;
  std::int64_t constant = 1;
  collect_factors(pool, a, factors, constant);
  collect_factors(pool, b, factors, constant);
  Ref result = pool.like(a, 1);
  for (Ref one : factors) {
    result = pool.mul(result, one);
  }
  return constant != 1 ? pool.mul(result, pool.like(a, constant)) : result;
}

/// A quotient or remainder by something that is not constant: common factors go.
inline Ref divided_by_factors(Pool& pool, Op op, Ref a, Ref b) {
  if (pool.is_integer(b)) {
    return pool.raw(op, a, b);
  }
  std::vector<Ref> left, right;
  std::int64_t left_constant = 1, right_constant = 1;
  collect_factors(pool, a, left, left_constant);
  collect_factors(pool, b, right, right_constant);
  Ref divisor = pool.like(b, 1), common = divisor;
  bool any = false;
  for (Ref factor : right) {
    std::size_t i = 0;
    while (i < left.size() && left[i] != factor) {
      ++i;
    }
    if (i < left.size()) {
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      common = pool.mul(common, factor);
      any = true;
    } else {
      divisor = pool.mul(divisor, factor);
    }
  }
  const std::int64_t shared = gcd(left_constant, right_constant);
  if ((!any && shared == 1) || shared == 0) {
    return pool.raw(op, a, b);
  }
  Ref dividend = pool.like(a, 1);
  for (Ref factor : left) {
    dividend = pool.mul(dividend, factor);
  }
  dividend = pool.mul(dividend, pool.like(a, left_constant / shared));
  divisor = pool.mul(divisor, pool.like(b, right_constant / shared));
  const Ref result = pool.binary(op, dividend, divisor);
  return op == Op::floordiv ? result : pool.mul(result, pool.mul(common, pool.like(b, shared)));
}

}  // namespace tensorsmith::algebra
