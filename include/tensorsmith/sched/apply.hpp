// SPDX-License-Identifier: Apache-2.0
// apply_step: one step on a state.
//
// Floor 3. Ansor reference, ch. 2.3. The semantics of each step stand in sched/apply/<step>.hpp,
// written as legality, then before --> after. States go in and come out by value: move one in to
// change it, copy it to branch. Not here: where the steps come from, ranges of attached stages
// (bounds.hpp).
#pragma once

#include <utility>
#include <variant>

#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/apply/cache_read.hpp"
#include "tensorsmith/sched/apply/cache_write.hpp"
#include "tensorsmith/sched/apply/compute_location.hpp"
#include "tensorsmith/sched/apply/expand_reduction.hpp"
#include "tensorsmith/sched/apply/factor_sum.hpp"
#include "tensorsmith/sched/apply/fuse.hpp"
#include "tensorsmith/sched/apply/pragma.hpp"
#include "tensorsmith/sched/apply/reorder.hpp"
#include "tensorsmith/sched/apply/rfactor.hpp"
#include "tensorsmith/sched/apply/split.hpp"
#include "tensorsmith/sched/apply/storage_align.hpp"
#include "tensorsmith/sched/apply/storage_layout.hpp"
#include "tensorsmith/sched/explain_error.hpp"

namespace tensorsmith {

/// Changes `state` and its history; leaves both as they are and says why if the step is illegal.
template <class Extent>
StepCheck try_apply(BasicState<Extent>& state, Step step) {
  StepCheck error = std::visit(
      [&](const auto& s) {
        if constexpr (requires { apply_to(state, s, step); }) {
          return apply_to(state, s, step);
        } else {
          return apply_to(state, s);
        }
      },
      std::as_const(step));
  if (error) {
    error->step = static_cast<std::int32_t>(state.steps().size());
    return error;
  }
  state.mutable_steps().push_back(std::move(step));
  return {};
}

#ifdef TENSORSMITH_COMPILED
extern template StepCheck try_apply(State& state, Step step);
#endif

template <class Extent>
Result<BasicState<Extent>, ScheduleError> apply_step(BasicState<Extent> state, Step step) {
  if (const StepCheck error = try_apply(state, std::move(step))) {
    return fail(*error);
  }
  return state;
}

}  // namespace tensorsmith
