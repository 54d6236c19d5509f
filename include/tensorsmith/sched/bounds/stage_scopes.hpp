// SPDX-License-Identifier: Apache-2.0
// scopes_of_stages: in which memory the values of every stage are.
//
// Floor 3. Ansor reference, ch. 2.5. Copies say it in their steps; all other stages follow from the
// threads that they are computed by.
#pragma once

#include <vector>

#include "tensorsmith/sched/bounds/loops.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::detail {

/// By the stage ids of the state.
inline std::vector<bounds::ScopeRank> scopes_of_stages(const State& state) {
  std::vector<bounds::ScopeRank> scopes;
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    scopes.push_back(bounds::scope_rank(state.stage(s).scope));
  }
  return scopes;
}

}  // namespace tensorsmith::detail
