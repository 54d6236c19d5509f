// SPDX-License-Identifier: Apache-2.0
// WindowRows: a product and the windows over its results are computed block of rows by block of
// rows, so that the results stay in the nearest caches.
//
// Floor 5. Own design (convolution and pooling, or a convolution and a depthwise one, as one
// kernel). Legal for a stage that reduces windows of another one's elements, sums of an axis and a
// reduction axis, or for its elementwise consumer; what it reads must come, by padding and
// elementwise stages that nothing else reads, from a stage that multi-level tiling is worth for.
// The rows are the first axis with windows. Elementwise stages are finished from the product's
// registers, once per element. Padding is left out where it can be (rules/inline_padding.hpp), else
// computed with the block. Rows that the windows of two blocks share are computed twice.
//     Y = X * W; E = max(Y, 0); P[h, w, c] = max over r, q of E[2 h + r, 2 w + q, c]
//         -->  h.0 { E: h w.0 c.0 { Y: w.0 c.0 h w.1 c.1 k.0 w.2 c.2 k.1 w.3 c.3 } w.1 c.1
//                    h.1 w c r q: P }
// Windows that multi-level tiling is worth for are tiled. Where an axis has no windows there is
// another sketch with blocks of columns: the product's tiles of that axis follow those of the
// windows.
//     Y, E as above; D = sum over r, q of E * V[r, q, c]; F = max(D, 0)
//         -->  h.0 c.0 { E: h w.0 c.0 { Y } w.1 c.1
//                        F: h.1 w.0 { D: w.0 c.0 h w.1 c.1 r.0 q.0 w.2 c.2 r.1 q.1 w.3 c.3 }
//                           w.1 c.1 }
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/sketch/window_group.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct WindowRows {
  static constexpr std::string_view name() { return "window_rows"; }

  Applicability applicability(const RuleInput& input) const {
    return input.options.tiling_structure.starts_with("SS") && window_group(input)
               ? Applicability::apply
               : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    const std::optional<WindowGroup> group = window_group(input);
    TENSORSMITH_ASSERT(group.has_value(), "expand of a rule that does not apply");
    std::vector<Derivation> derived;
    const bool has_blocks = group->columns >= 0 && needs_tiling(input.analysis, group->windows);
    for (const bool by_columns : {false, true}) {
      if (!by_columns || has_blocks) {
        // The stages are placed; what the product reads is left to the other rules.
        derived.push_back(Derivation{placed(input, *group, by_columns), input.stage - 1});
      }
    }
    return derived;
  }

 private:
  /// Open splits of a tiled stage that another one follows, by its axes that are not held.
  struct Source {
    std::vector<std::int32_t> splits;
    IdList held;

    std::int32_t of(std::int32_t axis) const {
      return splits[static_cast<std::size_t>(axis) -
                    count_items(held, [&](std::int32_t other) { return other < axis; })];
    }
  };

  static State placed(const RuleInput& input, const WindowGroup& group, bool by_columns) {
    State state = group.state;
    const std::string_view structure = input.options.tiling_structure;
    const std::int32_t columns = by_columns ? group.columns : -1;
    std::int32_t column_source = -1, block = 0;
    if (!needs_tiling(input.analysis, group.windows)) {
      block = split_rows(state, input.stage, group.outer);
      if (group.windows != input.stage) {  // a vector of windows at a time
        const auto count = static_cast<std::int32_t>(num_iterators(state, input.stage));
        grow(state, ComputeAtStep{group.windows, input.stage, count - 2});
      }
    } else if (group.windows != input.stage) {
      const Source source{tile_stage(state, group.windows, structure, group.outer), group.outer};
      column_source = by_columns ? source.of(columns) : -1;
      const Finished loops = follow(state, input.stage, source, group.outer.back(), columns);
      block = loops.block;
      grow(state, ComputeAtStep{group.windows, input.stage, loops.last});
    } else {
      block = tile_rows(state, input.stage, structure, group.outer, columns, column_source);
    }
    const Source product{tile_stage(state, group.product, structure, group.held,
                                    by_columns ? group.held_columns : -1, column_source),
                         group.held};
    for (std::int32_t stage : group.between) {
      grow(state, ComputeAtStep{stage, input.stage, block});
    }
    if (group.finish < 0) {
      grow(state, ComputeAtStep{group.product, input.stage, block});
    } else {
      const Finished loops = follow(state, group.finish, product, -1, -1);
      grow(state, ComputeAtStep{group.finish, input.stage, block});
      grow(state, ComputeAtStep{group.product, group.finish, loops.last});
    }
    return state;
  }

  static std::size_t num_iterators(const State& state, std::int32_t stage) {
    return state.stage(static_cast<std::size_t>(stage)).iterators.size();
  }

  /// Loops of a stage that finishes a tiled one: the last that is outside of a block, and the one
  /// at which the tiled stage is computed.
  struct Finished {
    std::int32_t block, last;
  };

  /// Splits what finishes a tiled stage as that one's outermost level, behind the held axes. Rows
  /// are split for blocks of them; -1: they are not. Blocks of columns stand right inside.
  static Finished follow(State& state, std::int32_t stage, const Source& source, std::int32_t rows,
                         std::int32_t columns) {
    const auto count = static_cast<std::int32_t>(num_iterators(state, stage));
    IdList front, blocks, whole, outer, inner;
    std::int32_t position = 0;
    for (std::int32_t axis = 0; axis < count; ++axis) {
      if (has_item(source.held, axis)) {
        if (axis == rows) {
          grow(state, split_of(state, stage, position, LengthList(1, unknown_length)));
          front.push_back(position++);
          whole.push_back(position++);
        } else {
          front.push_back(position++);
        }
        continue;
      }
      grow(state, FollowSplitStep{stage, position, source.of(axis), 1});
      (axis == columns ? blocks : outer).push_back(position++);
      inner.push_back(position++);
    }
    order_loops(state, stage, front, blocks, whole, outer, inner);
    const auto num_front = static_cast<std::int32_t>(front.size() + blocks.size());
    return {num_front - 1, num_front + static_cast<std::int32_t>(whole.size() + outer.size()) - 1};
  }

  /// Splits the last of the axes `outer` and brings all of them, of that one the outer part, to
  /// the front. Returns the loop over blocks.
  static std::int32_t split_rows(State& state, std::int32_t stage, const IdList& outer) {
    const auto count = static_cast<std::int32_t>(num_iterators(state, stage));
    IdList front, inner;
    std::int32_t position = 0;
    for (std::int32_t axis = 0; axis < count; ++axis) {
      if (axis == outer.back()) {
        grow(state, split_of(state, stage, position, LengthList(1, unknown_length)));
        front.push_back(position++);
        inner.push_back(position++);
      } else {
        (has_item(outer, axis) ? front : inner).push_back(position++);
      }
    }
    order_loops(state, stage, front, inner);
    return static_cast<std::int32_t>(front.size()) - 1;
  }

  /// The same of windows that nothing finishes, which are tiled. `column_source` becomes the split
  /// of the columns, if there are any.
  static std::int32_t tile_rows(State& state, std::int32_t stage, std::string_view structure,
                                const IdList& outer, std::int32_t columns,
                                std::int32_t& column_source) {
    const std::int32_t rows = outer.back();
    grow(state, split_of(state, stage, rows, LengthList(1, unknown_length)));
    const auto behind = [&](std::int32_t axis) { return axis > rows ? axis + 1 : axis; };
    IdList held = outer;
    held.push_back(rows + 1);
    const auto num_axes =
        static_cast<std::int32_t>(state.operation(static_cast<std::size_t>(stage)).axes.size());
    std::int32_t column_loop = -1;
    for (std::int32_t i = 0, loop = 0; i <= num_axes; ++i) {
      if (!has_item(held, i)) {
        column_loop = columns >= 0 && i == behind(columns) ? loop : column_loop;
        ++loop;
      }
    }
    const Source source{tile_stage(state, stage, structure, held), held};
    // In front of the held loops there are now the outermost parts of the others.
    const std::int32_t num_tiled = num_axes + 1 - static_cast<std::int32_t>(held.size());
    IdList front, inner;
    for (std::size_t i = 0; i < outer.size(); ++i) {
      front.push_back(num_tiled + static_cast<std::int32_t>(i));
    }
    if (columns >= 0) {
      column_source = source.of(behind(columns));
      front.push_back(column_loop);
    }
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(num_iterators(state, stage)); ++i) {
      if (!has_item(front, i)) {
        inner.push_back(i);
      }
    }
    order_loops(state, stage, front, inner);
    return static_cast<std::int32_t>(front.size()) - 1;
  }
};

}  // namespace tensorsmith
