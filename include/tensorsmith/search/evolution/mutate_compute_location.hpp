// SPDX-License-Identifier: Apache-2.0
// MutateComputeLocation: computes a stage at another iterator.
//
// Floor 7. Ansor reference, ch. 5.3, except that the present place is not drawn again unless
// ReferenceDrawing. Steps are replaced, never added or removed.
//     CA pad conv i0  -->  CA pad conv i1
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/location_candidates.hpp"

namespace tensorsmith {

template <class Drawing>
struct BasicMutateComputeLocation {
  static constexpr std::string_view name() { return "compute_location"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    if (!space.options().change_compute_location) {
      return std::nullopt;
    }
    std::vector<Step> steps = parent.state.steps();
    const std::vector<std::size_t> movable =
        steps_where<ComputeAtStep>(steps, [&](std::size_t at, const ComputeAtStep& step) {
          return has_free_location(parent.state, *parent.analysis,
                                   step.stage + shift_after(steps, at, step.stage));
        });
    if (movable.empty()) {
      return std::nullopt;
    }
    const std::size_t at = pick(movable, rng);
    ComputeAtStep& step = std::get<ComputeAtStep>(steps[at]);
    const std::int32_t shift = shift_after(steps, at, step.stage);
    std::vector<IteratorKey> places =
        location_candidates(parent.state, *parent.analysis, step.stage + shift);
    if (Drawing::draws_other_values) {
      std::erase(places, IteratorKey{step.target_stage + shift, step.target_iterator});
    }
    if (places.empty()) {
      return std::nullopt;
    }
    const IteratorKey place = pick(places, rng);
    step.target_stage = place.stage - shift;
    step.target_iterator = place.iterator;
    return space.build(steps, parent.sketch);
  }

 private:
  /// How far the id of `stage` at step `at` moves until the end of the history.
  static std::int32_t shift_after(const std::vector<Step>& steps, std::size_t at,
                                  std::int32_t stage) {
    std::int32_t shift = 0;
    for (std::size_t i = at + 1; i < steps.size(); ++i) {
      if (adds_stage(steps[i]) && stage_of(steps[i]) <= stage + shift) {
        ++shift;
      }
    }
    return shift;
  }
};

using MutateComputeLocation = BasicMutateComputeLocation<NativeDrawing>;

}  // namespace tensorsmith
