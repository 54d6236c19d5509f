// SPDX-License-Identifier: Apache-2.0
// error_twin: the same program in f64, and beside its result a bound of how far a program in the
// types as they are written may be from it.
//
// Private to lib/ and tests. Own design: running error analysis (Wilkinson; Higham, "Accuracy and
// Stability of Numerical Algorithms", sec. 3.3) as a program of its own. Beside every tensor that
// rounding may change stands the bound of its absolute error, made from those of what it reads and
// from the rounding of each operation in its type:
//     x y: |x| e(y) + |y| e(x) + e(x) e(y) + eps |x y|
//     sum of n terms x: sum of e(x) + 4 eps (sqrt(n) + 1) |x|, in whatever order it is summed up
//     what becomes an integer: how far the step at x - e(x) and at x + e(x) are from that at x
// Integers that are made of it carry the bound on; where they may leave their type, or choose an
// element, it says nothing.
// So a bound follows from types, lengths and the values themselves; it is as wide as the program is
// ill-conditioned for them. Where it says nothing (an overflow of the type on the way, a branch
// that rounding may turn) it is unknown_error or more.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// Bounds from here on say nothing.
inline constexpr double unknown_error = 1e250;

struct BoundedTwin {
  Shared<const ComputeDag> dag;
  /// By argument of the program: the argument of `dag` that holds the bounds of its elements, f64,
  /// of its shape. None: it is an input, or integers that no rounding changes.
  std::vector<std::optional<std::size_t>> bounds_of;
};

/// The arguments of its dag are those of `dag`, then the bounds. Nothing if these are too long to
/// be of use.
std::optional<BoundedTwin> error_twin(const ComputeDag& dag);

}  // namespace tensorsmith
