// SPDX-License-Identifier: Apache-2.0
// How large the tensors of a dag are.
//
// Floor 2. Own design.
#pragma once

#include <cstdint>

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

inline std::int64_t num_elements(const TensorInfo& tensor) {
  std::int64_t count = 1;
  for (std::int64_t extent : tensor.shape) {
    count *= extent;
  }
  return count;
}

inline double bytes_of_tensor(const TensorInfo& tensor) {
  return static_cast<double>(num_elements(tensor)) * bytes_of(tensor.dtype);
}

}  // namespace tensorsmith
