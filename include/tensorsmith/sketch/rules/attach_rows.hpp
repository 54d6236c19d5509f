// SPDX-License-Identifier: Apache-2.0
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
// Among them may be a stage with a group of its own that has more in common, as where reductions of
// parts of rows are joined; in a second sketch these are computed in it, block of parts by block.
//     for i, b: max; for i, b: sum; for i, b: join; for i: all; for i, j: norm
//         -->  for i.0 { for i.1, b.0 { for b.1: max; for b.1: sum; for b.1: join };
//                        for i.1: all; for i.1, j: norm }
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
    const std::optional<RowGroup> group = row_group(input);
    TENSORSMITH_ASSERT(group.has_value(), "expand of a rule that does not apply");
    std::vector<Derivation> derived{attached(input, *group, group->state, {})};
    for (std::int32_t stage : group->stages) {
      const RuleInput at{group->state, input.analysis, stage, input.options};
      const std::optional<RowGroup> parts = row_group(at);
      if (parts && parts->shared.size() > group->shared.size()) {
        State state = parts->state;
        attach(state, stage, *parts, {parts->shared.back()});
        derived.push_back(attached(input, *group, std::move(state), parts->stages));
        break;
      }
    }
    return derived;
  }

 private:
  /// The group at blocks of its rows, but for the stages that are placed already.
  static Derivation attached(const RuleInput& input, const RowGroup& group, State state,
                             const std::vector<std::int32_t>& placed) {
    RowGroup rest = group;
    std::erase_if(rest.stages, [&](std::int32_t stage) { return has_item(placed, stage); });
    attach(state, input.stage, rest, group.shared);
    return {std::move(state), group.next_stage};
  }

  /// Splits these axes of a stage and puts its group at the last of their outer loops.
  static void attach(State& state, std::int32_t last, const RowGroup& group,
                     const std::vector<std::int32_t>& axes) {
    const auto count =
        static_cast<std::int32_t>(state.stage(static_cast<std::size_t>(last)).iterators.size());
    IdList outer, inner;
    std::int32_t position = 0;
    for (std::int32_t axis = 0; axis < count; ++axis) {
      if (has_item(axes, axis)) {
        grow(state, split_of(state, last, position, LengthList(1, unknown_length)));
        outer.push_back(position++);
        inner.push_back(position++);
      } else {
        (has_item(group.shared, axis) ? outer : inner).push_back(position++);
      }
    }
    order_loops(state, last, outer, inner);
    for (std::int32_t stage : group.stages) {
      grow(state, ComputeAtStep{stage, last, static_cast<std::int32_t>(group.shared.size()) - 1});
    }
  }
};

}  // namespace tensorsmith
