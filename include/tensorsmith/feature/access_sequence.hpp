// SPDX-License-Identifier: Apache-2.0
// The accesses of a program as one sequence, and where data flows through shared memory in it.
//
// Floor 5. Pruner (PAM), ch. 3.4: each store appends what it reads, last read first, then what it
// writes; a digit says where the buffer lies. A contraction whose two operands are staged in shared
// memory reads 2 01 01 112: its sum is cleared, both operands are copied, a product is added.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tensorsmith/feature/store_program.hpp"

namespace tensorsmith {

inline constexpr std::string_view dataflow_pattern = "20101112";

/// Of arguments and of buffers that nothing allocates: global.
inline FeatureScope scope_of(const StoreProgram& program, TensorId tensor) {
  const FeatureAllocation* allocation = program.allocation(tensor);
  return allocation == nullptr ? FeatureScope::global : allocation->scope;
}

/// 0 global, 1 shared, 2 local: of the accesses of all stores for which `is_left_out(tensor)` does
/// not hold.
template <class LeftOut>
std::string access_digits(const StoreProgram& program, const LeftOut& is_left_out) {
  std::string digits;
  for (const FeatureStore& store : program.stores) {
    for (std::size_t i = is_left_out(store.tensor) ? 0 : store.accesses.size(); i-- > 0;) {
      const auto scope = static_cast<int>(scope_of(program, store.accesses[i].tensor));
      digits.push_back(static_cast<char>('0' + scope));
    }
  }
  return digits;
}

/// The first access of the pattern, npos if the sequence does not hold it.
inline std::size_t dataflow_match(std::string_view digits) { return digits.find(dataflow_pattern); }

}  // namespace tensorsmith
