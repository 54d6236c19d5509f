// SPDX-License-Identifier: Apache-2.0
// rank_of_copy: how many axes a copy has that a history made.
//
// Floor 3. Own design. Most copies have the rank of what they copy; those of patches do not
// (apply/patches.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// How many axes the copy has that step `at`, a cache read, made: as many as the copy of today.
inline std::size_t rank_of_copy(const State& state, std::size_t at) {
  const std::vector<Step>& steps = state.steps();
  std::int32_t copy = stage_of(steps[at]) + 1;
  for (std::size_t i = at + 1; i < steps.size(); ++i) {
    copy = stage_after(steps[i], copy);
  }
  return state.operation(static_cast<std::size_t>(copy)).axes.size();
}

}  // namespace tensorsmith
