// SPDX-License-Identifier: Apache-2.0
// Tiles of warps that multiply with tensor cores: which splits make them, and of which extents.
//
// Floor 7. Own design. They are whole tiles whatever the size (lower/emit_padding.hpp), so their
// numbers may be rounded up: 1000 rows are 63 tiles of 16, 64 with one of zeros more.
#pragma once

#include <vector>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// The open splits of stages that an instruction of warps computes and of those that they are
/// computed in, as steps. Not of a part of a sum, behind which the next one begins.
inline std::vector<std::size_t> splits_of_warps(const State& sketch) {
  std::vector<std::size_t> found;
  const std::vector<Step>& steps = sketch.steps();
  const auto is_of_warps = [&](std::int32_t stage) {
    return sketch.stage(static_cast<std::size_t>(stage)).hints.has<hints::Tensorize>();
  };
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const SplitStep* split = std::get_if<SplitStep>(&steps[at]);
    if (split == nullptr || !has_item(split->lengths, unknown_length)) {
      continue;
    }
    std::int32_t stage = split->stage;
    for (std::size_t next = at + 1; next < steps.size(); ++next) {
      stage = stage_after(steps[next], stage);
    }
    const bool is_part = sketch.stage(static_cast<std::size_t>(stage)).is_partial_sum;
    bool is_tile = is_of_warps(stage) && !is_part;
    for (const auto& [attached, place] : sketch.attach_map().stage_to_iterator) {
      is_tile = is_tile || (place.stage == stage && is_of_warps(attached));
    }
    if (is_tile) {
      found.push_back(at);
    }
  }
  return found;
}

/// Whether fewer than 6 numbers up to 32 divide the extent, and it is no power of two.
inline bool wants_rounding(std::int64_t extent) {
  constexpr std::int64_t largest = 32, enough = 6;
  std::int64_t usable = 0;
  for (std::int64_t length = 1; length <= largest; ++length) {
    usable += extent % length == 0 ? 1 : 0;
  }
  return usable < enough && (extent & (extent - 1)) != 0;
}

}  // namespace tensorsmith
