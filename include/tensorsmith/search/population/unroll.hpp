// SPDX-License-Identifier: Apache-2.0
// Unroll: lets the lowering unroll inner loops of stages with reductions, up to a drawn size.
//
// Floor 7. Ansor reference, ch. 5.1 (Unroll). Loops named in `always_unroll_inner` are unrolled as
// long as they stand in the innermost tile.
//     C: for i, k  -->  C auto_unroll: 64: for i, k
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// The loops of the innermost tile that the computation wants written out, innermost first.
inline std::vector<std::int32_t> loops_to_unroll(const State& state, std::int32_t stage) {
  const auto id = static_cast<std::size_t>(stage);
  std::vector<std::int32_t> loops;
  if (state.stage(id).is_placeholder || state.stage(id).compute_at == ComputeAt::inlined) {
    return loops;
  }
  const std::vector<std::string>& wanted = state.operation(id).attrs.always_unroll_inner;
  std::vector<std::string> seen;
  for (std::size_t i = state.stage(id).iterators.size(); !wanted.empty() && i > 0; --i) {
    const auto& it = state.stage(id).iterators[i - 1];
    const std::vector<std::string> names = original_names(it.name);
    const std::size_t before = seen.size();
    for (const std::string& name : names) {
      if (!has_item(seen, name)) {
        seen.push_back(name);
      }
    }
    if (seen.size() == before) {
      break;  // a second tile level begins
    }
    if (names.size() == 1 && it.annotation == Annotation::none && has_item(wanted, names.front())) {
      loops.push_back(static_cast<std::int32_t>(i - 1));
    }
  }
  return loops;
}

struct Unroll {
  static constexpr std::string_view name() { return "unroll"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    State& state = candidate.state;
    const std::vector<std::int32_t>& steps = space.options().auto_unroll_max_steps;
    for (std::size_t id = 0; id < state.num_stages(); ++id) {
      if (state.stage(id).is_placeholder || state.stage(id).compute_at == ComputeAt::inlined) {
        continue;
      }
      const auto stage = static_cast<std::int32_t>(id);
      for (std::int32_t loop : loops_to_unroll(state, stage)) {
        if (!try_step(state, AnnotationStep{stage, loop, Annotation::unroll})) {
          return false;
        }
      }
      if (!has_non_spatial_iterator(state, stage) || steps.empty()) {
        continue;
      }
      const std::int32_t limit = steps[rng.next_below(static_cast<std::uint32_t>(steps.size()))];
      if (!try_step(state, PragmaStep{stage, 0, hints::AutoUnroll{limit}})) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace tensorsmith
