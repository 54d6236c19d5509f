// Growing a state by steps: for rules, whose steps are legal by construction, and for searches,
// where an illegal step ends the candidate.
//
// Floor 5. Own design.
#pragma once

#include <utility>
#include <variant>

#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// Applies a step; if it is illegal the answer is false and the state stays as it was.
inline bool try_step(State& state, const Step& step) { return !try_apply(state, step); }

/// Applies a step that the caller knows to be legal.
inline void grow(State& state, const Step& step) {
  const bool legal = try_step(state, step);
  TENSORSMITH_ASSERT(legal, "a sketch rule made an illegal step");
}

/// Splits an iterator into lengths.size() + 1 parts, inner to outer, with the extent recorded.
inline SplitStep split_of(const State& state, std::int32_t stage, std::int32_t iterator,
                          LengthList lengths) {
  const auto& it =
      state.stage(static_cast<std::size_t>(stage)).iterators[static_cast<std::size_t>(iterator)];
  return SplitStep{stage, iterator, it.extent.value_or(0), std::move(lengths), true};
}

}  // namespace tensorsmith
