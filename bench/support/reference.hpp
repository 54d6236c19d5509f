// SPDX-License-Identifier: Apache-2.0
// Naive reference in double precision and the comparison of a result, as floats, with it.
//
// Own design. The reference takes the operands in their plain layouts. Large problems are checked
// on a deterministic sample of outputs (stated in the result), small ones completely. Not here:
// speed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/support/shapes.hpp"

namespace tensorsmith::bench {

/// Computes single outputs of a problem. The buffers must outlive it.
class Reference {
 public:
  Reference(const Problem& problem, const Buffers& buffers);

  /// Value of the output element with this flat index in the plain layout.
  double at(std::int64_t flat_index) const;
  std::int64_t size() const { return sizes_.output; }
  const ProblemSizes& sizes() const { return sizes_; }

 private:
  double gemm(const GemmShape& shape, std::int64_t flat) const;
  double requantized(double sum, Element type, std::int64_t column) const;
  /// Element of a result whose rows are computed whole; the last one is kept.
  template <class Compute>
  double of_row(std::int64_t flat, std::int64_t columns, const Compute& compute) const;
  void gemm_row(const GemmShape& shape, std::int64_t row) const;
  void attention_row(const AttentionShape& shape, std::int64_t row) const;
  double conv(const ConvShape& shape, std::int64_t flat) const;
  /// `value_at` of the input's elements.
  template <class ValueAt>
  double conv(const ConvShape& shape, const float* weights, const float* bias, std::int64_t flat,
              const ValueAt& value_at) const;
  double chain(const PointwiseShape& shape, std::int64_t flat) const;
  /// `value_at`: an element of what the windows go over.
  template <class ValueAt>
  double pool(const PoolShape& shape, std::int64_t flat, const ValueAt& value_at) const;

  Problem problem_;
  Buffers buffers_;
  ProblemSizes sizes_;
  mutable std::int64_t row_ = -1;
  mutable std::vector<double> values_;  ///< of that row
};

struct VerifyResult {
  bool ok = false;
  std::int64_t checked = 0, total = 0;  ///< checked < total: a sample
  double max_error = 0;                 ///< largest |got - want|
  double max_error_over_bound = 0;      ///< ok means <= 1
  std::int64_t worst_index = -1;  ///< first not-a-number, else the largest error over its bound
  std::string message;            ///< empty when ok
};

/// Bound per element: 8 * 2^-23 * sqrt(K) * max(|want|, rms(want)), the growth of rounding errors
/// in a sum of K terms in any order, times `rounding`. `indices` names the element of each pair.
/// Not-a-number and infinity fail unless wanted.
VerifyResult compare(const std::vector<float>& got, const std::vector<double>& want,
                     const std::vector<std::int64_t>& indices, std::int64_t total,
                     std::int64_t reduction_length, double rounding = 1);

/// Whole numbers: equal, or rounded from floats (`is_rounded`): one element, or one in 64, may be a
/// neighbour.
VerifyResult compare_integers(const std::vector<float>& got, const std::vector<double>& want,
                              const std::vector<std::int64_t>& indices, std::int64_t total,
                              bool is_rounded);

/// Checks `output` (plain layout) against the reference, on all elements when that costs at most
/// `max_terms` multiply-adds, else on an even sample with the first and last elements.
VerifyResult verify(const Problem& problem, const Buffers& buffers, const float* output,
                    double max_terms = 2e8);

}  // namespace tensorsmith::bench
