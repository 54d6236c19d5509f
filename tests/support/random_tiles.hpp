// SPDX-License-Identifier: Apache-2.0
// Random register tiles around a reduction: what lowering's treatment of padding is tested with.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

/// The dag's last stage with all axes split at random and its loops in the order S S R S R S, the
/// order within a level random too; every stage called `inlined` is. Nothing if that is illegal.
inline bool tile_at_random(CounterRng& rng, State& state, const std::string& inlined) {
  const auto below = [&](std::size_t n) {
    return static_cast<std::int32_t>(rng.next_below(static_cast<std::uint32_t>(n)));
  };
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    if (state.operation(s).name == inlined &&
        try_apply(state, ComputeInlineStep{static_cast<std::int32_t>(s)})) {
      return false;
    }
  }
  const auto stage = static_cast<std::int32_t>(state.num_stages()) - 1;
  const Operation& op = state.operation(state.num_stages() - 1);
  const std::size_t num_spatial = op.axes.size();
  std::vector<std::vector<std::int32_t>> spatial(4), reduce(2);
  std::int32_t position = 0;
  for (std::size_t a = 0; a < num_spatial + op.reduce_axes.size(); ++a) {
    const bool is_spatial = a < num_spatial;
    const Axis& axis = is_spatial ? op.axes[a] : op.reduce_axes[a - num_spatial];
    LengthList lengths;
    if (is_spatial) {
      lengths = {1 + below(2), 1 + below(3), 1 + below(a + 1 == num_spatial ? 16 : 7)};
    } else {
      lengths = {below(3) == 0 ? 1 : 1 + below(static_cast<std::size_t>(axis.extent))};
    }
    if (try_apply(state, SplitStep{stage, position, axis.extent, lengths, true})) {
      return false;
    }
    for (auto& level : is_spatial ? spatial : reduce) {
      level.push_back(position++);
    }
  }
  ReorderStep order{stage, {}};
  for (auto* level : {&spatial[0], &spatial[1], &reduce[0], &spatial[2], &reduce[1], &spatial[3]}) {
    const std::int32_t last = level->back();
    if (below(2) == 0) {
      rng.shuffle(*level);
    }
    if (level == &spatial[3] && below(8) != 0) {  // the vector loop mostly stays where it is
      std::erase(*level, last);
      level->push_back(last);
    }
    for (std::int32_t iterator : *level) {
      order.after.push_back(iterator);
    }
  }
  return !try_apply(state, order);
}

}  // namespace tensorsmith::test
