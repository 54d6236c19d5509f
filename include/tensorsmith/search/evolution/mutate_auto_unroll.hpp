// SPDX-License-Identifier: Apache-2.0
// MutateAutoUnroll: draws another remark for lowering: auto_unroll_max_step, a hint to memory, how
// many rows a reduction computes at a time, how many of its steps are written out, or whether a
// packed copy keeps rows.
//
// Floor 7. Ansor reference, ch. 5.3, except that the present value is not drawn again unless
// ReferenceDrawing. Every second mutation of a program that reduces along rows draws
// their number, every fourth of one with a packed copy that can keep rows is about those. Where the
// space has hints to memory three others of four draw another one of those, or none; of the rest
// every second draws the steps of a reduction.
//     PR C auto_unroll_max_step$16  -->  PR C auto_unroll_max_step$512
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/population/draw_row_block.hpp"
#include "tensorsmith/search/population/keep_pack_rows.hpp"
#include "tensorsmith/search/population/memory_hints.hpp"
#include "tensorsmith/search/population/unroll.hpp"

namespace tensorsmith {

namespace detail {

/// The program with so many steps of the reductions of one stage written out, 1 included; nothing
/// if the space has no such choice, or the program no reduction.
inline std::optional<Candidate> with_reduction_unroll(const SearchSpace& space,
                                                      const Candidate& program, CounterRng& rng) {
  std::vector<std::optional<PragmaStep>> choices;
  bool has_unrolled = false;
  for (std::size_t id = 0; id < program.state.num_stages(); ++id) {
    const auto stage = static_cast<std::int32_t>(id);
    const bool reduces = !program.state.stage(id).is_placeholder &&
                         program.state.stage(id).compute_at != ComputeAt::inlined &&
                         has_non_spatial_iterator(program.state, stage);
    const std::int32_t present = program.state.stage(id).hints.get<hints::UnrollReduction>().steps;
    has_unrolled = has_unrolled || present != 0;
    for (std::int32_t count : space.options().reduction_unrolls) {
      if (reduces && count != present) {
        choices.push_back(PragmaStep{stage, 0, hints::UnrollReduction{count}});
      }
    }
  }
  if (has_unrolled) {
    choices.push_back(std::nullopt);
  }
  if (choices.empty()) {
    return std::nullopt;
  }
  std::vector<Step> steps = program.state.steps();
  std::erase_if(steps, has_hint<hints::UnrollReduction>);
  if (const std::optional<PragmaStep>& chosen = pick(choices, rng)) {
    steps.push_back(*chosen);
  }
  return space.build(steps, program.sketch);
}

}  // namespace detail

template <class Drawing>
struct BasicMutateAutoUnroll {
  static constexpr std::string_view name() { return "auto_unroll"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    if (std::optional<Candidate> child = detail::with_row_block(space, parent, rng);
        child && rng.next_below(2) == 0) {
      return child;
    }
    if (const std::vector<std::size_t> layouts = detail::layouts_of_rows(space, parent);
        !layouts.empty() && rng.next_below(4) == 0) {
      return detail::with_other_rows(space, parent, layouts, rng);
    }
    const std::vector<PragmaStep> possible = detail::possible_memory_hints(space, parent);
    if (!possible.empty() && rng.next_below(4) != 0) {
      const std::uint32_t drawn = rng.next_below(static_cast<std::uint32_t>(possible.size()) + 1);
      return detail::with_memory_hint(
          space, parent, drawn < possible.size() ? std::optional(possible[drawn]) : std::nullopt);
    }
    if (!space.options().reduction_unrolls.empty() && rng.next_below(2) == 0) {
      if (auto child = detail::with_reduction_unroll(space, parent, rng)) {
        return child;
      }
    }
    std::vector<Step> steps = parent.state.steps();
    const std::vector<std::size_t> pragmas =
        steps_where<PragmaStep>(steps, [](std::size_t, const PragmaStep& step) {
          return step.hint.is<hints::AutoUnroll>();
        });
    if (pragmas.empty()) {
      return std::nullopt;
    }
    PragmaStep& chosen = std::get<PragmaStep>(steps[pick(pragmas, rng)]);
    std::vector<Hint> others;
    for (std::int32_t limit : space.options().auto_unroll_max_steps) {
      Hint other = hints::AutoUnroll{limit};
      if (!(Drawing::draws_other_values && other == chosen.hint)) {
        others.push_back(std::move(other));
      }
    }
    if (others.empty()) {
      return std::nullopt;
    }
    chosen.hint = pick(others, rng);
    return space.build(steps, parent.sketch);
  }
};

using MutateAutoUnroll = BasicMutateAutoUnroll<NativeDrawing>;

}  // namespace tensorsmith
