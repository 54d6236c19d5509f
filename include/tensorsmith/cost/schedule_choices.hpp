// What a schedule chose, as numbers: two programs of one space are alike where these are.
//
// Floor 6. Own design, for models that compare programs (corrected_draft.hpp). Splits and places
// are told apart by their order among the steps, so that programs of one sketch have the same
// choice in the same place; steps beyond the first few are counted only.
#pragma once

#include <array>
#include <cstdint>
#include <variant>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

inline constexpr std::size_t num_choice_splits = 8, num_choice_levels = 3, num_choice_places = 2,
                             num_choice_hints = 6;
inline constexpr std::size_t num_schedule_choices = num_choice_splits * num_choice_levels +
                                                    num_choice_places + std::variant_size_v<Step> +
                                                    num_choice_hints;
using ScheduleChoices = std::array<float, num_schedule_choices>;

/// log2 of the lengths of the first splits, the loops where the first stages were put, how many
/// steps there are of every kind, and hints. A difference of one is about as much everywhere.
inline ScheduleChoices schedule_choices(const State& state) {
  ScheduleChoices choices{};
  const auto log = [](double value) { return static_cast<float>(math::log2(value)); };
  float* const lengths = choices.data();
  float* const places = lengths + num_choice_splits * num_choice_levels;
  float* const kinds = places + num_choice_places;
  float* const hints = kinds + std::variant_size_v<Step>;
  std::size_t num_splits = 0, num_places = 0;
  for (const Step& step : state.steps()) {
    const SplitStep* split = std::get_if<SplitStep>(&step);
    const ComputeAtStep* place = std::get_if<ComputeAtStep>(&step);
    if (split != nullptr && num_splits < num_choice_splits) {
      for (std::size_t i = 0; i < split->lengths.size() && i < num_choice_levels; ++i) {
        lengths[num_splits * num_choice_levels + i] =
            log(larger_of(1.0, static_cast<double>(split->lengths[i])));
      }
      ++num_splits;
    } else if (place != nullptr && num_places < num_choice_places) {
      places[num_places++] = static_cast<float>(place->target_iterator);
    } else if (split == nullptr && !std::holds_alternative<PragmaStep>(step)) {
      kinds[step.index()] += 1;
    }
  }
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    const State::Stage& stage = state.stage(s);
    hints[0] += log(1.0 + stage.auto_unroll_max_step) / 4;
    hints[1] += log(larger_of(1, stage.reduction_unroll));
    hints[2] += log(larger_of(1, stage.row_block));
    hints[3] += stage.streams_result ? 1.0F : 0.0F;
    const OperandPrefetch& ahead = stage.prefetch;
    hints[4] += ahead.is_block ? 2.0F : 0.0F;
    hints[5] += !ahead.is_block && ahead.lines > 0 ? 2 + log(ahead.lines) / 2 : 0.0F;
  }
  return choices;
}

}  // namespace tensorsmith
