// SPDX-License-Identifier: Apache-2.0
// Growing a state by steps: for rules, whose steps are legal by construction, and for searches,
// where an illegal step ends the candidate.
//
// Floor 5. Own design.
#pragma once

#include <cstdint>
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

namespace detail {

inline void append_loops(ReorderStep& order, std::int32_t loop) { order.after.push_back(loop); }
template <class List>
void append_loops(ReorderStep& order, const List& list) {
  for (const auto& item : list) {
    append_loops(order, item);
  }
}

}  // namespace detail

/// Brings the loops of a stage into the order of the lists (of positions, or of lists of those),
/// one behind the other.
template <class... Lists>
void order_loops(State& state, std::int32_t stage, const Lists&... lists) {
  ReorderStep order{stage, {}};
  (detail::append_loops(order, lists), ...);
  grow(state, order);
}

/// Splits an iterator into lengths.size() + 1 parts, inner to outer, with the extent recorded.
inline SplitStep split_of(const State& state, std::int32_t stage, std::int32_t iterator,
                          LengthList lengths) {
  const auto& it =
      state.stage(static_cast<std::size_t>(stage)).iterators[static_cast<std::size_t>(iterator)];
  return SplitStep{stage, iterator, it.extent.value_or(0), std::move(lengths), true};
}

}  // namespace tensorsmith
