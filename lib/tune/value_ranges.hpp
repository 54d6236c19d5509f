// SPDX-License-Identifier: Apache-2.0
// ValueRanges: between which numbers the values of an expression lie, whatever the inputs are.
//
// Private to lib/tune and tests. Own design. Inputs have every value of their types, NaN included;
// computed tensors are followed into their formulas, sums over axes are not. Not here: ranges of
// indices (ir/interval.hpp).
#pragma once

#include <cstdint>
#include <map>

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct ValueRange {
  double min, max;
  bool may_be_nan;
};

class ValueRanges {
 public:
  explicit ValueRanges(const ComputeDag& dag) : dag_(dag) {}
  ValueRange operator()(ExprId id);

 private:
  ValueRange new_range(ExprId id);
  ValueRange of_binary(const Binary& node, bool is_float_type);
  ValueRange of_call(const Call& node);

  const ComputeDag& dag_;
  std::map<std::uint32_t, ValueRange> known_;  ///< by expression
};

}  // namespace tensorsmith
