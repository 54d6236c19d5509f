// AttachRows: reductions along rows, and what is between them, are computed row by row in the
// stage that needs them all.
//
// Floor 5. Own design (fused row programs as libraries write softmax and layernorm). Legal for a
// stage that needs no tiling or reduces nothing; the stages in front of it that nothing else reads,
// as far back as they need no tiling either, follow it if something of all this reduces. The axes
// that all of them have in common are split once: the inner part is a block of rows that all stages
// go through one after the other, so that it stays in the nearest cache.
//     for i: max; for i, j: exp; for i: sum; for i, j: norm
//         -->  for i.0 { for i.1: max; for i.1, j: exp; for i.1: sum; for i.1, j: norm }
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/row_group.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct AttachRows {
  static constexpr std::string_view name() { return "attach_rows"; }

  Applicability applicability(const RuleInput& input) const {
    const std::optional<RowGroup> group = row_group(input);
    return group && !group->stages.empty() ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    std::optional<RowGroup> group = row_group(input);
    TENSORSMITH_ASSERT(group.has_value(), "expand of a rule that does not apply");
    State state = std::move(group->state);
    const auto& iterators = state.stage(static_cast<std::size_t>(input.stage)).iterators;
    const auto count = static_cast<std::int32_t>(iterators.size());
    const auto num_shared = static_cast<std::int32_t>(group->shared.size());
    IdList outer, inner;
    std::int32_t position = 0;
    for (std::int32_t axis = 0; axis < count; ++axis) {
      if (has_item(group->shared, axis)) {
        grow(state, split_of(state, input.stage, position, LengthList(1, unknown_length)));
        outer.push_back(position++);
      }
      inner.push_back(position++);
    }
    order_loops(state, input.stage, outer, inner);
    for (std::int32_t stage : group->stages) {
      grow(state, ComputeAtStep{stage, input.stage, num_shared - 1});
    }
    return {Derivation{std::move(state), group->next_stage}};
  }
};

}  // namespace tensorsmith
