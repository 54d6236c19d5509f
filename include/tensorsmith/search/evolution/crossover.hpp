// SPDX-License-Identifier: Apache-2.0
// Crossover: a candidate with the split lengths of two parents of the same sketch.
//
// Floor 7. Own design (the reference has none; OSDI 2020 sec. 5.1 crosses whole stages). The child
// has the first parent's history; every split that the sketch left open takes its lengths from
// either parent with equal probability, at least one from the second. Histories of one sketch agree
// step by step over the sketch's steps, so positions match. Nothing if the parents do not differ
// there.
//     [8, 4], [2, 16]  x  [16, 1], [4, 4]  -->  [8, 4], [4, 4]
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/search/evolution/mutator.hpp"

namespace tensorsmith {

struct Crossover {
  static constexpr std::string_view name() { return "crossover"; }

  std::optional<Candidate> cross(const SearchSpace& space, const Candidate& first,
                                 const Candidate& second, CounterRng& rng) const {
    if (first.sketch != second.sketch || first.sketch >= space.sketches().size()) {
      return std::nullopt;
    }
    const std::size_t length = space.sketches()[first.sketch].steps().size();
    std::vector<Step> steps = first.state.steps();
    const std::vector<Step>& others = second.state.steps();
    const std::vector<std::size_t> different =
        steps_where<SplitStep>(steps, [&](std::size_t at, const SplitStep& split) {
          const SplitStep* other =
              at < length && at < others.size() ? std::get_if<SplitStep>(&others[at]) : nullptr;
          return other != nullptr && other->extent == split.extent &&
                 other->lengths.size() == split.lengths.size() &&
                 !(other->lengths == split.lengths);
        });
    if (different.empty()) {
      return std::nullopt;
    }
    const std::size_t certain = pick(different, rng);
    for (std::size_t at : different) {
      const bool exchange = rng.next_below(2) == 1;
      if (exchange || at == certain) {
        std::get<SplitStep>(steps[at]).lengths = std::get<SplitStep>(others[at]).lengths;
      }
    }
    return space.build(steps, first.sketch);
  }
};

}  // namespace tensorsmith
