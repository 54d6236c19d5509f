// SPDX-License-Identifier: Apache-2.0
// has_plain_loops, holds_stages: what programs are that loops are counted of by numbers
// (loop_uses.hpp).
//
// Floor 5. Own design. No partial sums, no storage layouts; kernels are whole stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// All stages at the root or none are bound to threads, and threads are outside of all other loops.
inline bool has_plain_kernels(const State& state) {
  std::size_t bound = 0, others = 0;
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    const auto& stage = state.stage(s);
    const bool is_root = stage.compute_at == ComputeAt::root;
    if (stage.is_placeholder || stage.compute_at == ComputeAt::inlined) {
      continue;
    }
    bool is_bound = false, is_inside = false;  // of a loop that is none of threads
    for (const auto& it : stage.iterators) {
      const bool is_thread = is_thread_annotation(it.annotation);
      if (is_thread && (is_root ? is_inside : is_block_annotation(it.annotation))) {
        return false;
      }
      is_bound = is_bound || is_thread;
      is_inside = is_inside || (!is_thread && it.extent != 1);
    }
    (is_bound ? bound : others) += is_root ? 1 : 0;
  }
  return bound == 0 || others == 0;
}

/// Whether some stage is computed inside of the loops of `stage`.
inline bool holds_stages(const State& state, std::size_t stage) {
  return any_item(state.attach_map().iterator_to_stages, [&](const auto& attached) {
    return attached.first.stage == static_cast<std::int32_t>(stage);
  });
}

inline bool has_plain_loops(const State& state) {
  const auto is_plain = [](const Step& step) {
    const FuseStep* fuse = std::get_if<FuseStep>(&step);
    return !std::holds_alternative<RfactorStep>(step) &&
           !std::holds_alternative<StorageLayoutStep>(step) &&
           (fuse == nullptr || !fuse->iterators.empty());
  };
  return all_items(state.steps(), is_plain) && has_plain_kernels(state);
}

}  // namespace tensorsmith::detail
