// SPDX-License-Identifier: Apache-2.0
// Mutator: makes another legal candidate from one; what the mutations share.
//
// Floor 7. Ansor reference, ch. 5.3. A mutation edits the step history; the result is replayed from
// the initial state, so it is legal or there is none.
#pragma once

#include <concepts>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith {

template <class M>
concept Mutator = requires(const M& mutator, const SearchSpace& space, const Candidate& parent,
                           CounterRng& rng) {
  { mutator.name() } -> std::convertible_to<std::string_view>;
  { mutator.mutate(space, parent, rng) } -> std::same_as<std::optional<Candidate>>;
};

/// Indices of the steps of one type for which `test` holds.
template <class StepType, class Test>
std::vector<std::size_t> steps_where(const std::vector<Step>& steps, Test&& test) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const StepType* step = std::get_if<StepType>(&steps[i])) {
      if (test(i, *step)) {
        found.push_back(i);
      }
    }
  }
  return found;
}

/// With so many steps the history begins: those of its sketch.
inline std::size_t num_sketch_steps(const SearchSpace& space, const Candidate& candidate) {
  return candidate.sketch < space.sketches().size()
             ? space.sketches()[candidate.sketch].steps().size()
             : 0;
}

template <class T>
const T& pick(const std::vector<T>& items, CounterRng& rng) {
  return items[rng.next_below(static_cast<std::uint32_t>(items.size()))];
}

}  // namespace tensorsmith
