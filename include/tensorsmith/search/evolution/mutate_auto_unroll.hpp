// MutateAutoUnroll: draws another remark for lowering, auto_unroll_max_step or a hint to memory.
//
// Floor 7. Ansor reference, ch. 5.3, except that the present value is not drawn again unless
// SpaceOptions::follows_reference. Where the space has hints to memory three mutations of four
// draw another one of those, or none.
//     PR C auto_unroll_max_step$16  -->  PR C auto_unroll_max_step$512
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/population/memory_hints.hpp"
#include "tensorsmith/search/population/unroll.hpp"

namespace tensorsmith {

struct MutateAutoUnroll {
  static constexpr std::string_view name() { return "auto_unroll"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    const std::vector<PragmaStep> hints = detail::possible_memory_hints(space, parent);
    if (!hints.empty() && rng.next_below(4) != 0) {
      const std::uint32_t drawn = rng.next_below(static_cast<std::uint32_t>(hints.size()) + 1);
      return detail::with_memory_hint(
          space, parent, drawn < hints.size() ? std::optional(hints[drawn]) : std::nullopt);
    }
    std::vector<Step> steps = parent.state.steps();
    const std::vector<std::size_t> pragmas =
        steps_where<PragmaStep>(steps, [](std::size_t, const PragmaStep& step) {
          return step.pragma.rfind(auto_unroll_pragma, 0) == 0;
        });
    if (pragmas.empty()) {
      return std::nullopt;
    }
    PragmaStep& chosen = std::get<PragmaStep>(steps[pick(pragmas, rng)]);
    std::vector<std::string> others;
    for (std::int32_t limit : space.options().auto_unroll_max_steps) {
      std::string text = std::string(auto_unroll_pragma) + std::to_string(limit);
      if (text != chosen.pragma || space.options().follows_reference) {
        others.push_back(std::move(text));
      }
    }
    if (others.empty()) {
      return std::nullopt;
    }
    chosen.pragma = pick(others, rng);
    return space.build(steps, parent.sketch);
  }
};

}  // namespace tensorsmith
