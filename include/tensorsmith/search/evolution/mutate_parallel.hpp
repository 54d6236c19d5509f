// SPDX-License-Identifier: Apache-2.0
// MutateParallel: fuses another number of outer loops for a parallel loop.
//
// Floor 7. Ansor reference, ch. 5.3.
//     FU C [0, 1]; AN C 0 parallel  -->  FU C [0, 1, 2]; AN C 0 parallel
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/search/evolution/mutator.hpp"

namespace tensorsmith {

struct MutateParallel {
  static constexpr std::string_view name() { return "parallel"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    std::vector<Step> steps = parent.state.steps();
    const std::vector<std::size_t> parallel =
        steps_where<AnnotationStep>(steps, [&](std::size_t at, const AnnotationStep& step) {
          const FuseStep* fuse = at > 0 ? std::get_if<FuseStep>(&steps[at - 1]) : nullptr;
          return step.annotation == Annotation::parallel && step.iterator == 0 && fuse != nullptr &&
                 fuse->stage == step.stage && !fuse->iterators.empty() &&
                 fuse->iterators.front() == 0;
        });
    if (parallel.empty()) {
      return std::nullopt;
    }
    const std::size_t annotation = pick(parallel, rng);
    State before = space.initial();
    for (std::size_t i = 0; i + 1 < annotation; ++i) {
      if (!try_step(before, steps[i])) {
        return std::nullopt;
      }
    }
    FuseStep& fuse = std::get<FuseStep>(steps[annotation - 1]);
    const std::uint32_t most = num_fusible(before, fuse.stage);
    if (most == 0) {
      return std::nullopt;
    }
    const auto count = static_cast<std::int32_t>(1 + rng.next_below(most));
    const std::int32_t offset = static_cast<std::int32_t>(fuse.iterators.size()) - count;
    if (offset == 0) {
      return std::nullopt;
    }
    fuse.iterators.clear();
    for (std::int32_t i = 0; i < count; ++i) {
      fuse.iterators.push_back(i);
    }
    for (std::size_t i = annotation + 1; i < steps.size(); ++i) {
      if (!shift_iterator(steps[i], fuse.stage, offset)) {
        return std::nullopt;
      }
    }
    return space.build(steps, parent.sketch);
  }

 private:
  static std::uint32_t num_fusible(const State& state, std::int32_t stage) {
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    std::uint32_t count = 0;
    while (count < iterators.size() && iterators[count].kind != IteratorKind::reduction &&
           iterators[count].annotation == Annotation::none &&
           !is_attach_point(state, stage, count)) {
      ++count;
    }
    return count;
  }

  /// A later step on the same stage: its iterator moves; false if it is a step that cannot follow.
  static bool shift_iterator(Step& step, std::int32_t stage, std::int32_t offset) {
    if (adds_stage(step)) {
      return false;
    }
    if (stage_of(step) != stage) {
      return true;
    }
    const auto move = [&](std::int32_t& iterator) {
      iterator += iterator != 0 ? offset : 0;
      return true;
    };
    if (AnnotationStep* annotation = std::get_if<AnnotationStep>(&step)) {
      return move(annotation->iterator);
    }
    if (PragmaStep* pragma = std::get_if<PragmaStep>(&step)) {
      return move(pragma->iterator);
    }
    return false;
  }
};

}  // namespace tensorsmith
