// scopes_of_stages: in which memory the values of every stage are.
//
// Floor 3. Ansor reference, ch. 2.5. Copies say it in their steps; all other stages follow from the
// threads that they are computed by.
#pragma once

#include <variant>
#include <vector>

#include "tensorsmith/sched/bounds/loops.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::detail {

/// By the stage ids of the state.
inline std::vector<bounds::ScopeRank> scopes_of_stages(const State& state) {
  std::vector<bounds::ScopeRank> scopes(state.initial_dag()->operations().size(),
                                        bounds::ScopeRank::by_threads);
  for (const Step& step : state.steps()) {
    if (!adds_stage(step)) {
      continue;
    }
    const auto* read = std::get_if<CacheReadStep>(&step);
    const auto* write = std::get_if<CacheWriteStep>(&step);
    const auto rank = read != nullptr    ? bounds::scope_rank(read->scope)
                      : write != nullptr ? bounds::scope_rank(write->scope)
                                         : bounds::ScopeRank::by_threads;
    scopes.insert(scopes.begin() + stage_of(step) + (read != nullptr ? 1 : 0), rank);
  }
  return scopes;
}

}  // namespace tensorsmith::detail
