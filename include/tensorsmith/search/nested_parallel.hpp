// SPDX-License-Identifier: Apache-2.0
// has_nested_parallel: programs that would start threads from threads.
//
// Floor 7. Ansor reference, ch. 5.2 (what is valid). Looks at annotations and places alone.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// Whether two parallel loops stand inside each other, or one after the other in one loop tree: the
/// generated code would start threads from threads.
inline bool has_nested_parallel(const State& state) {
  const auto count = [&](const auto& self, std::int32_t stage) -> int {
    int found = 0;
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      found += iterators[i].annotation == Annotation::parallel ? 1 : 0;
      const auto attached = state.attach_map().iterator_to_stages.find(
          IteratorKey{stage, static_cast<std::int32_t>(i)});
      if (attached != state.attach_map().iterator_to_stages.end()) {
        for (std::int32_t inner : attached->second) {
          found += self(self, inner);
        }
      }
    }
    return found;
  };
  for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
    if (state.stage(stage).compute_at == ComputeAt::root &&
        count(count, static_cast<std::int32_t>(stage)) > 1) {
      return true;
    }
  }
  return false;
}

}  // namespace tensorsmith
