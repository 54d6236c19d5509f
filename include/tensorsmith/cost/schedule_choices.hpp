// SPDX-License-Identifier: Apache-2.0
// What a schedule chose, as numbers: two programs of one space are alike where these are.
//
// Floor 6. Own design, for models that compare programs (corrected_draft.hpp). Splits and places
// are told apart by their order among the steps, so that programs of one sketch have the same
// choice in the same place; steps beyond the first few are counted only. The columns are a list of
// tags (choice_tags), not the list of steps: a step that is not in the list has no column, and a
// new one gets a column when its tag is written into the list, which is another schema.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

inline constexpr std::size_t num_choice_splits = 8, num_choice_levels = 3, num_choice_places = 2;
/// Kinds of steps that are counted, by their tags, and hints. Columns follow these orders: what is
/// new goes to the end.
inline constexpr std::array<std::string_view, 15> choice_steps{
    "AN", "FU", "PR", "RE", "SP", "FSP", "FFSP", "SA", "CA", "CI", "CR", "CHR", "CHW", "RF", "TSL"};
inline constexpr std::array<std::string_view, 6> choice_hints{"auto_unroll",    "reduction_unroll",
                                                              "row_block",      "stream_result",
                                                              "prefetch_block", "prefetch_lines"};
inline constexpr std::size_t num_schedule_choices = num_choice_splits * num_choice_levels +
                                                    num_choice_places + choice_steps.size() +
                                                    choice_hints.size();
using ScheduleChoices = std::array<float, num_schedule_choices>;

/// The tags of the columns, in order.
inline std::vector<std::string> choice_tags() {
  std::vector<std::string> tags;
  for (std::size_t s = 0; s < num_choice_splits; ++s) {
    for (std::size_t l = 0; l < num_choice_levels; ++l) {
      tags.push_back("split" + std::to_string(s) + "." + std::to_string(l));
    }
  }
  for (std::size_t p = 0; p < num_choice_places; ++p) {
    tags.push_back("place" + std::to_string(p));
  }
  for (const std::string_view step : choice_steps) {
    tags.push_back("steps." + std::string(step));
  }
  for (const std::string_view hint : choice_hints) {
    tags.push_back("hint." + std::string(hint));
  }
  return tags;
}

namespace detail {

/// Adds one to the column of the step's kind, if it has one. Of whatever variant of steps.
template <class... Steps>
void count_step(const std::variant<Steps...>& step, float* kinds) {
  const std::string_view tag = std::visit([](const auto& s) { return s.tag; }, step);
  for (std::size_t i = 0; i < choice_steps.size(); ++i) {
    kinds[i] += choice_steps[i] == tag ? 1.0F : 0.0F;
  }
}

}  // namespace detail

/// log2 of the lengths of the first splits, the loops where the first stages were put, how many
/// steps there are of every kind, and hints. A difference of one is about as much everywhere.
inline ScheduleChoices schedule_choices(const State& state) {
  ScheduleChoices choices{};
  const auto log = [](double value) { return static_cast<float>(math::log2(value)); };
  float* const lengths = choices.data();
  float* const places = lengths + num_choice_splits * num_choice_levels;
  float* const kinds = places + num_choice_places;
  float* const remarks = kinds + choice_steps.size();
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
    } else if (split == nullptr && !traits_of(step).is_hint) {
      detail::count_step(step, kinds);
    }
  }
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    const State::Stage& stage = state.stage(s);
    remarks[0] += log(1.0 + stage.auto_unroll_max_step) / 4;
    remarks[1] += log(larger_of(1, stage.hints.get<hints::UnrollReduction>().steps));
    remarks[2] += log(larger_of(1, stage.hints.get<hints::RowBlock>().rows));
    remarks[3] += stage.hints.has<hints::StreamResult>() ? 1.0F : 0.0F;
    const OperandPrefetch ahead = operand_prefetch(stage.hints);
    remarks[4] += ahead.is_block ? 2.0F : 0.0F;
    remarks[5] += !ahead.is_block && ahead.lines > 0 ? 2 + log(ahead.lines) / 2 : 0.0F;
  }
  return choices;
}

inline constexpr std::string_view choices_block_name = "choices";

inline const Shared<const BlockSchema>& choices_schema() {
  static const Shared<const BlockSchema> schema =
      make_shared_of<const BlockSchema>(std::string(choices_block_name), choice_tags(), 1U);
  return schema;
}

/// The row of the feature table: one row per program.
inline FeatureExtractor choices_block() {
  return {choices_schema(),
          [](const ProgramView& view, const FeatureContext&, FeatureBlock& block) {
            const ScheduleChoices choices = schedule_choices(view.state());
            block.values.assign(choices.begin(), choices.end());
            block.num_rows = 1;
            return true;
          }};
}

}  // namespace tensorsmith
