// SPDX-License-Identifier: Apache-2.0
// add_value: what a store takes and reads to make its value.
//
// Floor 5. Ansor reference, ch. 6.3 and 6.4. Loads of one tensor are one access; what a store reads
// of the tensor that it stores is at the place where it stores.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/ir/algebra/remembered.hpp"

namespace tensorsmith::detail {

inline void add_load(const algebra::Pool& pool, const algebra::Node& load, FeatureStore& store) {
  const TensorId tensor{static_cast<std::uint32_t>(load.value)};
  FeatureAccess* access =
      find_item(store.accesses, [&](const FeatureAccess& known) { return known.tensor == tensor; });
  if (access != nullptr && access->kind != AccessKind::read) {
    access->kind = AccessKind::read_write;
    return;
  }
  if (access == nullptr) {
    access = &store.accesses.emplace_back();
    access->tensor = tensor;
    access->rank = load.num_operands;
  }
  for (std::size_t d = 0; d < load.num_operands; ++d) {
    access->indices.push_back(pool.operand(load, d));
  }
}

/// In the order in which they are written, those in indices after the load that they are for.
inline void add_loads(const algebra::Pool& pool, algebra::Ref ref, algebra::RefSet& seen,
                      FeatureStore& store) {
  if (!seen.insert(ref)) {
    return;
  }
  const algebra::Node& node = pool[ref];
  if (node.op == algebra::Op::load) {
    add_load(pool, node, store);
  }
  for (std::size_t i = 0; i < node.num_operands; ++i) {
    add_loads(pool, pool.operand(node, i), seen, store);
  }
}

/// The stored tensor is the first access of `store`.
inline void add_value(const algebra::Pool& pool, algebra::Ref value, FeatureStore& store) {
  store.value = value;
  store.counts.add(OperationCounter(pool)(value));
  algebra::RefSet seen;
  add_loads(pool, value, seen, store);
}

}  // namespace tensorsmith::detail
