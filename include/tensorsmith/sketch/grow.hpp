// Growing a state by steps: for rules, whose steps are legal by construction, and for searches, where
// an illegal step ends the candidate.
//
// Floor 5. Own design.
#pragma once

#include <utility>
#include <variant>

#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// Applies a step; false if it is illegal, and then the state is not to be used any more.
inline bool try_step(State& state, const Step& step) {
  Result<State, ScheduleError> grown = apply_step(std::move(state), step);
  if (!grown) {
    return false;
  }
  state = std::move(grown).value();
  return true;
}

/// Applies a step that the caller knows to be legal.
inline void grow(State& state, const Step& step) {
  const bool legal = try_step(state, step);
  TENSORSMITH_ASSERT(legal, "a sketch rule made an illegal step");
}

/// Splits an iterator into lengths.size() + 1 parts, inner to outer, with the extent recorded.
inline SplitStep split_of(const State& state, std::int32_t stage, std::int32_t iterator,
                          LengthList lengths) {
  const auto& it = state.stage(static_cast<std::size_t>(stage))
                       .iterators[static_cast<std::size_t>(iterator)];
  return SplitStep{stage, iterator, it.extent.value_or(0), std::move(lengths), true};
}

}  // namespace tensorsmith
