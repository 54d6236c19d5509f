// SPDX-License-Identifier: Apache-2.0
// Memory plan: where the values between groups lie in one arena.
//
// Floor 10; compiled in lib/graph. Own design: a value lives from the group that computes it to the
// last that reads it; values that live at the same time do not overlap; the largest are placed
// first, each at the lowest place that is free. Not here: inputs, outputs and constants, which lie
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/graph/partition.hpp"

namespace tensorsmith::graph {

/// What must not overlap: bytes that live from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  ///< by lifetime, multiples of 64
  std::int64_t total_bytes = 0;
};
Placement place(const std::vector<Lifetime>& lifetimes);

struct MemoryPlan {
  std::vector<std::int64_t> offsets;  ///< by ValueId; -1: not in the arena
  std::int64_t arena_bytes = 0;
  std::int64_t sum_bytes = 0;  ///< of all values in it, if none shared memory
};
MemoryPlan plan_memory(const Graph& graph, const Partition& partition);

}  // namespace tensorsmith::graph
