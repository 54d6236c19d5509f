// SPDX-License-Identifier: Apache-2.0
// WindowGroup: a stage that reduces windows, what continues it element by element, and the product
// that the windows go over, with what stands between.
//
// Floor 5. Own design; for the rule that computes them block of rows by block of rows
// (rules/window_rows.hpp). Windows are read at sums of an axis and a reduction axis.
//     Y = X * W; E = max(Y, 0); D[h, w, c] = sum over r, q of E[h + r, w + q, c] * V[r, q, c];
//     F = max(D, 0)  -->  product Y, finish E, windows D, of F; rows h, columns c
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/rules/inline_padding.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct WindowGroup {
  State state;                          ///< padding and elementwise stages may be inlined
  std::int32_t windows = -1;            ///< the stage that reduces them
  std::vector<std::int32_t> between{};  ///< padding that stays, the last first
  std::int32_t finish = -1;             ///< elementwise, behind the product; -1: none
  std::int32_t product = -1;
  IdList outer{};                  ///< axes of the last stage outside of a block, rows last
  IdList held{};                   ///< the same axes of the product
  std::int32_t columns = -1;       ///< an axis of the last stage without windows; -1: none
  std::int32_t held_columns = -1;  ///< that of the product
};

namespace detail {

class WindowGroupFinder {
 public:
  explicit WindowGroupFinder(const RuleInput& input) : input_(input) {}

  std::optional<WindowGroup> find() {
    const auto last = static_cast<std::size_t>(input_.stage);
    if (input_.state.stage(last).is_placeholder || input_.state.operation(last).axes.empty() ||
        input_.state.stage(last).compute_at != ComputeAt::root ||
        is_tiled(input_.state, input_.stage)) {
      return std::nullopt;
    }
    WindowGroup group{input_.state};
    group.windows = windows_of(group.state);
    if (group.windows < 0) {
      return std::nullopt;
    }
    Map map;
    for (std::size_t a = 0; a < input_.state.operation(last).axes.size(); ++a) {
      map.push_back(static_cast<std::int32_t>(a));
    }
    is_window_.assign(map.size(), false);
    for (std::int32_t reader = group.windows; group.product < 0;) {
      const std::int32_t stage = only_source(reader);
      if (stage < 0) {
        return std::nullopt;
      }
      map = moved(reader, stage, map);
      add(group, stage);
      reader = stage;
    }
    return choose_axes(group, map) ? std::optional<WindowGroup>(std::move(group)) : std::nullopt;
  }

 private:
  /// Per axis of the last stage: the one dimension that moves with it, and with no other; -1: none.
  using Map = std::vector<std::int32_t>;

  bool reduces(std::int32_t stage) const { return has_non_spatial_iterator(input_.state, stage); }

  /// The stage that reduces windows: the one at hand, or the one that it continues, cheap stages
  /// between them inlined; -1: none.
  std::int32_t windows_of(State& state) const {
    if (reduces(input_.stage)) {
      return single_elementwise_consumer(input_.state, input_.analysis, input_.stage)
                 ? -1
                 : input_.stage;
    }
    if (input_.state.stage(static_cast<std::size_t>(input_.stage)).iterators.size() < 2) {
      return -1;
    }
    const std::int32_t found = finished_by(input_.stage);
    for (std::int32_t stage = found < 0 ? -1 : only_source(input_.stage); stage != found;
         stage = only_source(stage)) {
      grow(state, ComputeInlineStep{stage});
    }
    return found;
  }

  /// The only stage that `reader` reads, inputs aside, if nothing else reads it; -1: none.
  std::int32_t only_source(std::int32_t reader) const {
    std::int32_t source = -1;
    for (std::uint32_t p : input_.analysis.producers(static_cast<std::uint32_t>(reader))) {
      if (!input_.analysis.is_placeholder(p)) {
        if (source >= 0) {
          return -1;
        }
        source = static_cast<std::int32_t>(p);
      }
    }
    if (source < 0) {
      return -1;
    }
    const auto id = static_cast<std::size_t>(source);
    const bool is_free = input_.state.stage(id).compute_at == ComputeAt::root &&
                         !is_tiled(input_.state, source) &&
                         !is_argument(input_.state.dag(), input_.state.operation(id)) &&
                         input_.analysis.readers(static_cast<std::uint32_t>(source)).size() == 1;
    return is_free ? source : -1;
  }

  /// The reduction that the stage, and cheap ones in front of it, continue element by element; -1:
  /// there is none.
  std::int32_t finished_by(std::int32_t stage) const {
    for (std::int32_t reader = stage;;) {
      const std::int32_t source = only_source(reader);
      if (source < 0 || !input_.analysis.elementwise_match(static_cast<std::uint32_t>(source),
                                                           static_cast<std::uint32_t>(stage))) {
        return -1;
      }
      if (reduces(source)) {
        return source;
      }
      if (!AlwaysInline::inlines(
              RuleInput{input_.state, input_.analysis, source, input_.options})) {
        return -1;
      }
      reader = source;
    }
  }

  /// Gives the next stage on the way from the windows to the product its part.
  void add(WindowGroup& group, std::int32_t stage) const {
    if (reduces(stage)) {
      group.product = stage;
      return;
    }
    const RuleInput at{group.state, input_.analysis, stage, input_.options};
    if (group.finish < 0 && finished_by(stage) >= 0) {
      group.finish = stage;
    } else if (AlwaysInline::inlines(at) ||
               InlinePadding{}.applicability(at) == Applicability::apply) {
      grow(group.state, ComputeInlineStep{stage});
    } else {
      group.between.push_back(stage);
    }
  }

  /// The map of `stage` from that of its reader. Axes that an index of the reader adds to a
  /// reduction axis are marked as those of windows.
  Map moved(std::int32_t reader, std::int32_t stage, const Map& map) {
    const ExprPool& pool = input_.state.dag().pool();
    const Operation& op = input_.state.operation(static_cast<std::size_t>(reader));
    const auto axes_in = [&](const std::vector<Axis>& axes, ExprId index) {
      IdList found;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (uses_var(pool, index, axes[a].var)) {
          found.push_back(static_cast<std::int32_t>(a));
        }
      }
      return found;
    };
    Map to(map.size(), -2);  // -2: not read yet
    for (ExprId body : op.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
        const TensorRead* read = pool.as<TensorRead>(id);
        if (read == nullptr || input_.state.dag().tensor(read->tensor).operation !=
                                   static_cast<std::uint32_t>(stage)) {
          return;
        }
        for (std::size_t a = 0; a < map.size(); ++a) {
          std::int32_t dimension = -1, count = 0;
          for (std::size_t d = 0; map[a] >= 0 && d < read->indices.size(); ++d) {
            const IdList used = axes_in(op.axes, read->indices[d]);
            if (has_item(used, map[a])) {
              dimension = used.size() == 1 ? static_cast<std::int32_t>(d) : -1;
              is_window_[a] = is_window_[a] || !axes_in(op.reduce_axes, read->indices[d]).empty();
              ++count;
            }
          }
          dimension = count == 1 ? dimension : -1;
          to[a] = to[a] == -2 || to[a] == dimension ? dimension : -1;
        }
      });
    }
    return to;
  }

  /// Whether there are rows: the first axis with windows. Axes in front of it that move what the
  /// rows move as well, the product's other operands apart (images of a batch), stand outside.
  bool choose_axes(WindowGroup& group, const Map& map) const {
    if (!needs_tiling(input_.analysis, group.product)) {
      return false;
    }
    const std::vector<Axis>& axes =
        input_.state.operation(static_cast<std::size_t>(input_.stage)).axes;
    std::size_t rows = 0;
    while (rows < axes.size() && (!is_window_[rows] || axes[rows].extent == 1)) {
      ++rows;
    }
    if (rows == axes.size() || map[rows] < 0) {
      return false;
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].extent == 1 || is_window_[a] || map[a] < 0) {
        continue;
      }
      if (a < rows && moves_with(group.product, map[a], map[rows])) {
        group.outer.push_back(static_cast<std::int32_t>(a));
        group.held.push_back(map[a]);
      } else if (group.columns < 0) {
        group.columns = static_cast<std::int32_t>(a);
        group.held_columns = map[a];
      }
    }
    group.outer.push_back(static_cast<std::int32_t>(rows));
    group.held.push_back(map[rows]);
    return true;
  }

  /// Whether every read of the stage that uses its axis `rows` uses `axis`, and no other does.
  bool moves_with(std::int32_t stage, std::int32_t axis, std::int32_t rows) const {
    const ExprPool& pool = input_.state.dag().pool();
    const Operation& op = input_.state.operation(static_cast<std::size_t>(stage));
    bool holds = true;
    for (ExprId body : op.bodies) {
      visit_nodes(pool, body, [&](ExprId id) {
        const TensorRead* read = pool.as<TensorRead>(id);
        const auto uses = [&](std::int32_t a) {
          return any_item(read->indices, [&](ExprId index) {
            return uses_var(pool, index, op.axes[static_cast<std::size_t>(a)].var);
          });
        };
        holds = holds && (read == nullptr || uses(axis) == uses(rows));
      });
    }
    return holds;
  }

  const RuleInput& input_;
  std::vector<bool> is_window_ = {};  ///< per axis of the last stage
};

}  // namespace detail

/// That of a stage at the root; none where there are no windows, no product, or other readers.
inline std::optional<WindowGroup> window_group(const RuleInput& input) {
  return detail::WindowGroupFinder(input).find();
}

}  // namespace tensorsmith
