// SPDX-License-Identifier: Apache-2.0
// storage_layouts: which storage layout the values of every stage have.
//
// Floor 3. Own design. The loops of a state do not show it: layouts are steps of the history.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// The last layout step of every stage, by the stage ids of the state; null without one. The
/// pointers are into state.steps().
inline std::vector<const StorageLayoutStep*> storage_layouts(const State& state) {
  std::vector<std::pair<std::int32_t, const StorageLayoutStep*>> found;
  for (const Step& step : state.steps()) {
    for (auto& [id, layout] : found) {
      id = stage_after(step, id);
    }
    if (const auto* layout = std::get_if<StorageLayoutStep>(&step)) {
      found.emplace_back(layout->stage, layout);
    }
  }
  std::vector<const StorageLayoutStep*> layouts(state.num_stages(), nullptr);
  for (const auto& [id, layout] : found) {
    layouts[static_cast<std::size_t>(id)] = layout;
  }
  return layouts;
}

}  // namespace tensorsmith
