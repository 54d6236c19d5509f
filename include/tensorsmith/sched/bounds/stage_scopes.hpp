// SPDX-License-Identifier: Apache-2.0
// scopes_of_stages: in which memory the values of every stage are.
//
// Floor 3. Ansor reference, ch. 2.5. Copies say it in their steps; all other stages follow from the
// threads that they are computed by.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/sched/bounds/loops.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::detail {

/// By the stage ids of the state.
inline std::vector<bounds::ScopeRank> scopes_of_stages(const State& state) {
  std::vector<bounds::ScopeRank> scopes;
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    const std::string& scope = state.stage(s).scope;
    scopes.push_back(scope.empty() ? bounds::ScopeRank::by_threads : bounds::scope_rank(scope));
  }
  return scopes;
}

}  // namespace tensorsmith::detail
