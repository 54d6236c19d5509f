// SPDX-License-Identifier: Apache-2.0
// The families of programs, by kind.
//
// Own design. Not here: asking for one by name (programs.hpp).
#pragma once

#include <vector>

#include "programs.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::bench {

void add_products(std::vector<ProgramFamily>& all);  ///< products behind and beside products
void add_rows(std::vector<ProgramFamily>& all);      ///< reductions of rows, gathers, scans
void add_grids(std::vector<ProgramFamily>& all);     ///< stencils, filters, index maps, elements
void add_held_out(std::vector<ProgramFamily>& all);

/// C[m, n] = sum over k of A[m, k] * B[k, n].
inline te::Tensor product(te::Program& p, const std::string& name, const te::Tensor& a,
                          const te::Tensor& b) {
  const auto k = p.reduce_axis(name + "_k", a.extent(1));
  return p.compute(name, {a.extent(0), b.extent(1)},
                   [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
}

inline te::Expr gelu(const te::Expr& x) {
  return 0.5 * x * (1.0 + te::erf(x * 0.70710678118654752));
}

}  // namespace tensorsmith::bench
