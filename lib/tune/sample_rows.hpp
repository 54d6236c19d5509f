// SPDX-License-Identifier: Apache-2.0
// sample_rows: the same program for some rows of its result only, for a reference that must be
// there at once.
//
// Private to lib/ and tests. Own design. Restricted is the axis of the result that saves the most;
// what the result reads row by row (a bias, an operand, the product behind it) is restricted too.
// The stride is odd, so that the rows fall on all places of a register tile, and the last row is
// one of them: tails end there.
//     C[i, j] = sum A[i, k] B[k, j], 1024 rows, stride 11
//         -->  C[i, j] = sum A[11 i, k] B[k, j], 94 rows
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/measure/row_sample.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct SampledRows {
  Shared<const ComputeDag> dag;      ///< the arguments that it restricts hold those rows only
  std::vector<RowSample> arguments;  ///< per argument
};

/// Points of all loops; a call of a function counts as 32.
double count_points(const ComputeDag& dag);

/// About as many rows as take `most_points` of them.
/// Nothing if the whole program takes no more, has several results, or no axis is worth it (saves
/// half of the points).
std::optional<SampledRows> sample_rows(const ComputeDag& dag, double most_points);

}  // namespace tensorsmith
