// SPDX-License-Identifier: Apache-2.0
// ReduceRows: one kernel for everything that is done to a row; for GPUs.
//
// Floor 5. Own design (row kernels as libraries write softmax, layernorm and sums of rows). Legal
// for a stage and the stages in front of it that only it needs (row_group.hpp), if each of those is
// one value per row, and either the last one is elementwise or it reduces the row itself; worth it
// where a reduction is longer than a warp and goes along the memory, products of a matrix that is
// read once among them (matrix-vector). A block has several rows side
// by side, a row has several threads, a thread has several neighbours at a time; how many of each
// is open.
//     max[i] over k; sum[i] over k; norm[i, j]
//         -->  norm: i.0 = blockIdx.x { i.1 = threadIdx.y {
//                max: k.0 { k.1 = threadIdx.x { unroll k.2 } };  sum: likewise
//                j.0 { j.1 = threadIdx.x { vectorize j.2 } } } }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/row_group.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct ReduceRows {
  static constexpr std::string_view name() { return "reduce_rows"; }

  Applicability applicability(const RuleInput& input) const {
    return rows_of(input) && !is_done_elsewhere(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    std::optional<RowGroup> group = rows_of(input);
    TENSORSMITH_ASSERT(group.has_value(), "expand of a rule that does not apply");
    State state = std::move(group->state);
    const std::int32_t last = input.stage;
    fuse(state, last, 0, group->shared.back() + 1);
    grow(state, split_of(state, last, 0, {unknown_length}));
    grow(state, AnnotationStep{last, 1, Annotation::thread_y});
    grow(state, AnnotationStep{last, 0, Annotation::block_x});
    std::int32_t source = -1;  // the split whose lengths the others take
    const auto share_out = [&](std::int32_t stage, std::int32_t first) {
      const auto count =
          static_cast<std::int32_t>(state.stage(static_cast<std::size_t>(stage)).iterators.size());
      if (const auto along = reduction_along_rows(state, stage);
          along && first + *along + 1 < count) {
        IdList order;  // the axis along the memory goes innermost
        for (std::int32_t i = 0; i < count; ++i) {
          if (i != first + *along) {
            order.push_back(i);
          }
        }
        order.push_back(first + *along);
        order_loops(state, stage, order);
      }
      fuse(state, stage, first, count - first);
      if (source < 0) {
        source = static_cast<std::int32_t>(state.steps().size());
        grow(state, split_of(state, stage, first, {unknown_length, unknown_length}));
      } else {
        grow(state, FollowSplitStep{stage, first, source, 2});
      }
      grow(state, AnnotationStep{stage, first + 1, Annotation::thread_x});
      // Terms that are unrolled are loaded as a vector (lower/emit_vectors.hpp).
      const bool is_sum = has_non_spatial_iterator(state, stage);
      grow(state,
           AnnotationStep{stage, first + 2, is_sum ? Annotation::unroll : Annotation::vectorize});
    };
    constexpr std::int32_t first_column = 2;
    if (state.stage(static_cast<std::size_t>(last)).iterators.size() > first_column) {
      share_out(last, first_column);
    }
    for (std::int32_t stage : group->stages) {
      share_out(stage, static_cast<std::int32_t>(
                           state.operation(static_cast<std::size_t>(stage)).axes.size()));
      grow(state, ComputeAtStep{stage, last, 1});
    }
    return {Derivation{std::move(state), group->next_stage}};
  }

 private:
  static void fuse(State& state, std::int32_t stage, std::int32_t first, std::int32_t count) {
    FuseStep step{stage, {}};
    for (std::int32_t i = first; i < first + count; ++i) {
      step.iterators.push_back(i);
    }
    if (count > 1) {
      grow(state, step);
    }
  }

  static bool goes_along(const State& state, std::int32_t stage) {
    return state.operation(static_cast<std::size_t>(stage)).reduce_axes.empty() ||
           reduction_along_rows(state, stage).has_value();
  }

  static bool is_long(const State& state, std::int32_t stage, std::int64_t length) {
    return has_non_spatial_iterator(state, stage) &&
           extent_product(state, stage, IteratorKind::reduction) > length;
  }

  /// Whether the stage is inlined, a cache, or in the kernel of a later one.
  static bool is_done_elsewhere(const RuleInput& input) {
    if (AlwaysInline::inlines(input) || has_cache_write(input.state, input.stage)) {
      return true;
    }
    const State initial = input.state.restart();
    const AccessAnalysis analysis(initial.dag(), input.analysis.reuse());
    const auto count = static_cast<std::int32_t>(initial.num_stages());
    const auto name_of = [](const State& state, std::int32_t stage) -> const std::string& {
      return state.operation(static_cast<std::size_t>(stage)).name;
    };
    std::int32_t own = 0;  // its id before caches were added
    while (own < count && name_of(initial, own) != name_of(input.state, input.stage)) {
      ++own;
    }
    bool found = false;
    for (std::int32_t later = own + 1; !found && later < count; ++later) {
      const auto group = rows_of(RuleInput{initial, analysis, later, input.options});
      found = group && has_item(group->stages, own);
    }
    return found;
  }

  static std::optional<RowGroup> rows_of(const RuleInput& input) {
    if (!input.options.is_gpu()) {
      return std::nullopt;
    }
    std::optional<RowGroup> group = row_group(input, true);
    if (!group) {
      return std::nullopt;
    }
    const State& state = group->state;
    const Operation& op = state.operation(static_cast<std::size_t>(input.stage));
    const auto num_long = [](const Operation& of) {
      return count_items(of.axes, [](const Axis& axis) { return axis.extent > 1; });
    };
    // The rows come first, axis by axis.
    const auto num_rows = static_cast<std::size_t>(group->shared.back()) + 1;
    std::size_t num_long_rows = 0;
    for (std::size_t a = 0; a < num_rows; ++a) {
      num_long_rows += op.axes[a].extent > 1 ? 1 : 0;
    }
    bool fits = num_long_rows == group->shared.size() && op.attrs.no_split_at_inner.empty() &&
                (op.reduce_axes.empty() || num_rows == op.axes.size()) &&
                goes_along(state, input.stage);
    bool is_worth_it = is_long(state, input.stage, input.options.hardware.warp_size);
    for (std::int32_t stage : group->stages) {
      const Operation& value = state.operation(static_cast<std::size_t>(stage));
      fits = fits && has_non_spatial_iterator(state, stage) && goes_along(state, stage) &&
             num_long(value) == group->shared.size() && value.attrs.no_split_at_inner.empty();
      is_worth_it = is_worth_it || is_long(state, stage, input.options.hardware.warp_size);
    }
    return fits && is_worth_it ? std::move(group) : std::nullopt;
  }
};

}  // namespace tensorsmith
