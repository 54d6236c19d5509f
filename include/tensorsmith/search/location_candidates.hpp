// SPDX-License-Identifier: Apache-2.0
// Where a stage may be computed: the iterators of its consumer that are worth trying.
//
// Floor 7. Ansor reference, ch. 5.1 (location candidates). The list says nothing about legality
// after later steps; bound inference decides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/sched/prepared.hpp"
#include "tensorsmith/sketch/packs.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

inline std::vector<IteratorKey>
location_candidates(const State& state, const AccessAnalysis& analysis, std::int32_t stage) {
  std::vector<IteratorKey> found;
  const auto consumer = single_consumer(state, analysis, stage);
  if (!consumer) {
    return found;
  }
  const auto& target = state.stage(static_cast<std::size_t>(*consumer));
  const bool target_is_tiled = is_tiled(state, *consumer);
  const bool target_is_attached = target.compute_at == ComputeAt::iterator;
  bool visited_reduction = false;
  for (std::size_t i = 0; i < target.iterators.size(); ++i) {
    const auto& it = target.iterators[i];
    if (it.kind == IteratorKind::reduction) {
      visited_reduction = true;
      if (!target_is_tiled) {
        break;
      }
    } else if (it.kind == IteratorKind::spatial && visited_reduction) {
      break;  // an inner tile
    }
    if (it.annotation == Annotation::unroll) {
      break;
    }
    const std::string_view name = it.name;
    const bool is_first_level = name.size() >= 2 && name.substr(name.size() - 2) == ".0";
    if (it.extent == std::int64_t{1} ||
        (target_is_attached && it.kind == IteratorKind::spatial && is_first_level)) {
      continue;
    }
    found.push_back(IteratorKey{*consumer, static_cast<std::int32_t>(i)});
    if (is_attach_point(state, *consumer, i)) {
      break;
    }
  }
  if (target_is_attached) {
    const std::int32_t outer = state.attach_map().stage_to_iterator.at(*consumer).stage;
    const auto& iterators = state.stage(static_cast<std::size_t>(outer)).iterators;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      if (iterators[i].kind == IteratorKind::reduction || is_attach_point(state, outer, i) ||
          iterators[i].annotation == Annotation::unroll) {
        break;
      }
      if (iterators[i].extent != std::int64_t{1}) {
        found.push_back(IteratorKey{outer, static_cast<std::int32_t>(i)});
      }
    }
  }
  return found;
}

/// Stages whose place is free: computed, not inlined, neither tiled nor worth tiling. Of a packed
/// copy only the place is free; that of a constant stays at root, where it is made once and for
/// all.
inline bool has_free_location(const State& state, const AccessAnalysis& analysis,
                              std::int32_t stage) {
  const auto id = static_cast<std::size_t>(stage);
  if (state.stage(id).is_placeholder || state.stage(id).compute_at == ComputeAt::inlined ||
      needs_tiling(analysis, stage)) {
    return false;
  }
  return PackedCopies(state.steps()).contains(stage) ? !prepared_stages(state)[id]
                                                     : !is_tiled(state, stage);
}

}  // namespace tensorsmith
