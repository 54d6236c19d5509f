// SPDX-License-Identifier: Apache-2.0
// Orders of operations: in which they are analysed, and as stages.
//
// Floor 2. Ansor reference, ch. 1.1: inputs in order of first appearance, the analysis order (Kahn
// with priorities) and the stage order (post-order from the outputs).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

namespace detail {

template <class List, class Value>
bool contains(const List& list, const Value& value) {
  for (const auto& item : list) {
    if (item == value) {
      return true;
    }
  }
  return false;
}

}  // namespace detail

/// The tensors that an operation reads, in order of first appearance in a post-order walk of its
/// bodies.
TENSORSMITH_INLINE std::vector<TensorId> input_tensors(const ExprPool& pool, const Operation& op);

/// Analysis order: indices into `operations` (any order), reachable from `arguments` only. Kahn's
/// algorithm, highest priority first; priority = discovery index of a last-in-first-out traversal.
TENSORSMITH_INLINE std::vector<std::uint32_t>
topological_order(const ExprPool& pool, const std::vector<Operation>& operations,
                  const std::vector<TensorId>& arguments);

/// Stage order: indices into `operations`; post-order from the operations without readers.
TENSORSMITH_INLINE std::vector<std::uint32_t> stage_order(const ExprPool& pool,
                                                          const std::vector<Operation>& operations,
                                                          const std::vector<TensorId>& arguments);

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/stage_order_body.hpp"
#endif
