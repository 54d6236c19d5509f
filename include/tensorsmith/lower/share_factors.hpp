// SPDX-License-Identifier: Apache-2.0
// Factors of a product in the order in which a register tile shares their products.
//
// Floor 4. Own design (what a person writes who multiplies by hand what two operands share). Of a
// product of three and more factors those two are multiplied first whose product has the fewest
// values in the tile; the fewest first again with what is left. Code generation computes equal
// values of one step once.
//     rows i, vectors r:  X[i, k]*B[r]*C[k, r]  -->  X[i, k]*(B[r]*C[k, r]), one product per step
// instead of one per row. Floats only; the result has as many roundings as before, in another
// order, and the product of a part may leave the range of the type where the whole would not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/ir/products.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith::detail {

/// A loop of a register tile; its value may be made of several variables.
struct TileLoop {
  VarList vars;
  std::int64_t extent = 1;
};

/// A factor, and the loops of the tile that change it, as bits.
struct Factor {
  ExprId value;
  std::uint64_t loops = 0;
};

/// `id` itself where it is no such product or no order is better than its own.
inline ExprId share_factors(ExprPool& pool, ExprId id, const std::vector<TileLoop>& tile) {
  constexpr std::size_t most_factors = 8, most_loops = 64;
  static_assert(most_factors <= most_free_factors);
  if (!is_float(pool.dtype(id)) || tile.size() > most_loops) {
    return id;
  }
  const ExprList values = factors_of_product(pool, id, most_factors);
  if (values.size() < 3) {
    return id;
  }
  std::vector<Factor> factors;
  for (ExprId value : values) {
    Factor factor{value};
    for (std::size_t i = 0; i < tile.size(); ++i) {
      for (VarId var : tile[i].vars) {
        factor.loops |= uses_var(pool, value, var) ? std::uint64_t{1} << i : 0;
      }
    }
    factors.push_back(factor);
  }
  const auto num_values = [&](std::uint64_t loops) {
    double count = 1;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      count *= (loops >> i & 1) != 0 ? static_cast<double>(tile[i].extent) : 1;
    }
    return count;
  };
  while (factors.size() > 1) {
    std::size_t first = 0, second = 1;
    double least = num_values(factors[0].loops | factors[1].loops);
    for (std::size_t a = 0; a < factors.size(); ++a) {
      for (std::size_t b = a + 1; b < factors.size(); ++b) {
        const double count = num_values(factors[a].loops | factors[b].loops);
        if (count < least) {
          first = a;
          second = b;
          least = count;
        }
      }
    }
    factors[first] = {pool.mul(factors[first].value, factors[second].value),
                      factors[first].loops | factors[second].loops};
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(second));
  }
  return factors[0].value;
}

}  // namespace tensorsmith::detail
