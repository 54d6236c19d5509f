// SPDX-License-Identifier: Apache-2.0
// KeepPackRows: a packed copy keeps the rows of its source, or goes back to panels.
//
// Floor 7. Own design. Only mutations ask for it: panels are as fast or faster where an element of
// the copy is used often, so rows are no part of what is drawn at first. They pay where few columns
// are computed and the transposing of panels shows (16 x 16 x 65536 on an Intel Ice Lake: tiles of
// 16 rows, runs of 1024, 15 % less time than panels, and 10 % less than rows without padding).
//     A.packed stored as [i floordiv 16][k][i floormod 16]  -->  as [i][k], a line behind each row
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/prepared.hpp"
#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/schedule_packs.hpp"
#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith::detail {

/// The layout steps of the copies that can keep rows, or do; none in a space without such copies,
/// and none of what is packed once, whose panels cost nothing.
inline std::vector<std::size_t> layouts_of_rows(const SearchSpace& space,
                                                const Candidate& program) {
  std::vector<std::size_t> found;
  const State& state = program.state;
  const PackedCopies copies(state.steps());
  if (!space.options().keeps_pack_rows || copies.empty()) {
    return found;
  }
  const std::vector<StageDerivation> derivations = derive(state);
  const std::vector<bool> is_prepared = prepared_stages(state);
  for (std::size_t at = num_steps_before_packs(state.steps()); at < state.steps().size(); ++at) {
    const StorageLayoutStep* layout = std::get_if<StorageLayoutStep>(&state.steps()[at]);
    if (layout == nullptr || !copies.contains(layout->stage)) {
      continue;
    }
    const auto id = static_cast<std::size_t>(layout->stage);
    const auto dimensions = packed_dimensions(state, derivations, id, space.options().intrinsics);
    if (!is_prepared[id] && dimensions &&
        can_keep_rows(*dimensions, state.dag().tensor(state.operation(id).outputs[0]),
                      space.options().hardware)) {
      found.push_back(at);
    }
  }
  return found;
}

/// The program with rows in one of these copies if it has panels, or with panels if it has rows.
inline std::optional<Candidate> with_other_rows(const SearchSpace& space, const Candidate& program,
                                                const std::vector<std::size_t>& layouts,
                                                CounterRng& rng) {
  std::vector<Step> steps = program.state.steps();
  auto& layout = std::get<StorageLayoutStep>(steps[pick(layouts, rng)]);
  layout.pad_elements = layout.pad_elements > 0 ? 0 : 1;  // how much is decided by the target
  return space.build(steps, program.sketch);
}

}  // namespace tensorsmith::detail
