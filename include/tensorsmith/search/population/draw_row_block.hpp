// SPDX-License-Identifier: Apache-2.0
// DrawRowBlock: how many rows a reduction along long rows computes at a time.
//
// Floor 7. Own design; nothing in a space without blocks of rows. Asked only where a reduction ends
// with its own loops and reads along them, so that lowering has its vectors along the row. Of the
// stages that are computed in one loop only the first: the others find the row in the nearest
// cache, where one stream is as fast as several (layernorm 4096 x 4096 with four rows, Intel Ice
// Lake: the mean 6 % less time for the kernel, the variance 1 %). All such stages of a program are
// drawn the same number, one row among them; mutations change one stage.
//     B: for i, k  -->  B row_block: 4: for i, k
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {
namespace detail {

/// Whether the body reads some operand along the last of its dimensions with a reduction axis.
inline bool reads_along_reduction(const State& state, const Operation& op) {
  return any_item(op.reduce_axes, [&](const Axis& axis) {
    return reads_rows_along(state.dag().pool(), op, axis.var);
  });
}

/// Whether no stage in front of it is computed at the same loop.
inline bool is_first_at_its_place(const State& state, std::int32_t stage) {
  const AttachMap& map = state.attach_map();
  const auto place = map.stage_to_iterator.find(stage);
  return place == map.stage_to_iterator.end() ||
         all_items(map.iterator_to_stages.at(place->second),
                   [&](std::int32_t other) { return other >= stage; });
}

/// The stages whose reductions may compute several rows at a time.
inline std::vector<std::int32_t> stages_of_rows(const State& state) {
  std::vector<std::int32_t> found;
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    const auto& stage = state.stage(id);
    if (stage.is_placeholder || stage.compute_at == ComputeAt::inlined || stage.iterators.empty() ||
        stage.iterators.back().kind != IteratorKind::reduction) {
      continue;
    }
    const bool has_rows = any_item(stage.iterators, [](const auto& it) {
      return it.kind == IteratorKind::spatial && it.extent.value_or(2) > 1;
    });
    if (has_rows && is_first_at_its_place(state, static_cast<std::int32_t>(id)) &&
        reads_along_reduction(state, state.operation(id))) {
      found.push_back(static_cast<std::int32_t>(id));
    }
  }
  return found;
}

/// The program with another number of rows in one stage, 1 included; nothing if the space has no
/// such choice, or the program no such stage.
inline std::optional<Candidate> with_row_block(const SearchSpace& space, const Candidate& program,
                                               CounterRng& rng) {
  std::vector<std::pair<std::int32_t, std::int32_t>> choices;  // stage, rows
  if (!space.options().row_blocks.empty()) {
    for (const std::int32_t stage : stages_of_rows(program.state)) {
      const std::int32_t present =
          program.state.stage(static_cast<std::size_t>(stage)).hints.get<hints::RowBlock>().rows;
      if (present > 1) {
        choices.emplace_back(stage, 1);
      }
      for (const std::int32_t rows : space.options().row_blocks) {
        if (rows != present) {
          choices.emplace_back(stage, rows);
        }
      }
    }
  }
  if (choices.empty()) {
    return std::nullopt;
  }
  const auto [stage, rows] = pick(choices, rng);
  std::vector<Step> steps = program.state.steps();
  std::erase_if(steps, [&, stage = stage](const Step& step) {
    return has_hint<hints::RowBlock>(step) && stage_of(step) == stage;
  });
  if (rows > 1) {
    steps.push_back(PragmaStep{stage, 0, hints::RowBlock{rows}});
  }
  return space.build(steps, program.sketch);
}

}  // namespace detail

struct DrawRowBlock {
  static constexpr std::string_view name() { return "row_block"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    const std::vector<std::int32_t>& blocks = space.options().row_blocks;
    if (blocks.empty()) {
      return true;
    }
    const std::vector<std::int32_t> stages = detail::stages_of_rows(candidate.state);
    if (stages.empty()) {
      return true;
    }
    const std::uint32_t drawn = rng.next_below(static_cast<std::uint32_t>(blocks.size()) + 1);
    for (std::size_t i = 0; drawn > 0 && i < stages.size(); ++i) {
      if (!try_step(candidate.state,
                    PragmaStep{stages[i], 0, hints::RowBlock{blocks[drawn - 1]}})) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace tensorsmith
