// SPDX-License-Identifier: Apache-2.0
// Split and Sum: what the canonical simplifier writes integer expressions as.
//
// Floor 1. The normal form of the Ansor reference 0.16: a sum of (index % upper) // lower * scale
// and a constant. Terms of one index stand together, the larger lower first; what a split took
// apart comes together again when the sum is written out, which goes by descending scale, positive
// terms first. Not here: how an expression becomes one (canonical.hpp).
#pragma once

#include <cstdint>
#include <variant>

#include "tensorsmith/ir/algebra/bounds.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "tensorsmith/support/small_vector.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::algebra {

struct Split {
  Ref index = no_ref;
  bool is_floor = false;  ///< it was divided; of equals such terms are written first
  std::int64_t lower = 1, upper = unlimited, scale = 1;

  bool is_whole() const { return lower == 1 && upper == unlimited; }
  bool may_join(bool floors) const { return is_floor == floors || is_whole(); }
};

/// Without the scale.
inline Ref written(Pool& pool, const Split& term, std::int64_t scale) {
  if (term.scale == 0) {
    return pool.like(term.index, 0);
  }
  Ref ref = term.index;
  if (term.upper != unlimited) {
    ref = pool.floormod(ref, pool.like(ref, term.upper));
  }
  if (term.lower != 1) {
    ref = pool.floordiv(ref, pool.like(ref, term.lower));
  }
  return scale != 1 ? pool.mul(ref, pool.like(ref, scale)) : ref;
}

using Splits = SmallVector<Split, 4>;

struct Sum {
  DType dtype = DType::i32;
  Splits terms;
  std::int64_t base = 0;

  bool is_zero() const { return base == 0 && terms.empty(); }
  void multiply(std::int64_t factor) {
    base = wrapping_mul(base, factor);
    for (Split& term : terms) {
      term.scale = wrapping_mul(term.scale, factor);
    }
  }
  /// All divide.
  void divide(std::int64_t divisor) {
    base /= divisor;
    for (Split& term : terms) {
      term.scale /= divisor;
    }
  }
  void add(Split other, std::int64_t factor) {
    if (other.scale == 0) {
      return;
    }
    other.scale = wrapping_mul(other.scale, factor);
    std::size_t at = 0;
    while (at < terms.size() && terms[at].index != other.index) {
      ++at;
    }
    for (; at < terms.size(); ++at) {
      Split& term = terms[at];
      if (term.index != other.index || other.lower > term.lower) {
        terms.insert(at, other);
        return;
      }
      if (other.lower == term.lower && other.upper == term.upper && other.may_join(term.is_floor)) {
        term.scale = wrapping_add(term.scale, other.scale);
        return;
      }
    }
    terms.push_back(other);
  }
  void add(const Sum& other, std::int64_t factor) {
    for (const Split& term : other.terms) {
      add(term, factor);
    }
    base = wrapping_add(base, wrapping_mul(other.base, factor));
  }
};

/// Not written out.
using Form = std::variant<Ref, Split, Sum>;

/// What a number divides, and the rest.
struct Parts {
  Sum divisible, rest;
};
inline Parts parted(const Sum& sum, std::int64_t divisor) {
  Parts parts;
  parts.divisible.dtype = parts.rest.dtype = sum.dtype;
  (sum.base % divisor == 0 ? parts.divisible : parts.rest).base = sum.base;
  for (const Split& term : sum.terms) {
    (term.scale % divisor == 0 ? parts.divisible : parts.rest).terms.push_back(term);
  }
  return parts;
}

/// (x // 6) * 6 + (x % 6 // 3) * 3 --> (x // 3) * 3, and the order in which terms are written.
inline Splits joined(Splits terms) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Split& left = terms[i];
    if (left.scale == 0) {
      continue;
    }
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      Split& right = terms[j];
      if (left.index != right.index || left.upper < right.lower) {
        break;
      }
      if (left.upper == right.upper && left.lower == right.lower && left.may_join(right.is_floor)) {
        right.scale += left.scale;
        left.scale = 0;
      } else if (left.lower == right.upper && right.scale != 0 && left.scale % right.scale == 0 &&
                 left.lower == left.scale / right.scale * right.lower &&
                 left.may_join(right.is_floor)) {
        right.upper = left.upper;
        left.scale = 0;
        break;
      }
    }
  }
  sort_few(terms, [](const Split& a, const Split& b) {
    return a.scale != b.scale   ? a.scale > b.scale
           : a.lower != b.lower ? a.lower > b.lower
           : a.upper != b.upper ? a.upper > b.upper
                                : a.is_floor > b.is_floor;
  });
  return terms;
}

inline Ref written(Pool& pool, const Sum& sum) {
  if (sum.terms.empty()) {
    return pool.integer(sum.base, sum.dtype);
  }
  const Splits terms = joined(sum.terms);
  Ref ref = pool.integer(0, sum.dtype);
  for (const Split& term : terms) {
    if (term.scale > 0) {
      ref = pool.add(ref, written(pool, term, term.scale));
    }
  }
  if (sum.base > 0) {
    ref = pool.add(ref, pool.integer(sum.base, sum.dtype));
  }
  for (const Split& term : terms) {
    if (term.scale < 0) {
      ref = pool.sub(ref, written(pool, term, wrapping_sub(0, term.scale)));
    }
  }
  return sum.base < 0 ? pool.sub(ref, pool.integer(wrapping_sub(0, sum.base), sum.dtype)) : ref;
}

}  // namespace tensorsmith::algebra
