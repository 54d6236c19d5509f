// WindowRows: a product and the windows over its results are computed block of rows by block of
// rows, so that the results stay in the nearest caches.
//
// Floor 5. Own design (convolution and pooling as one kernel). Legal for a stage that reduces
// windows of another one's elements, sums of an axis and a reduction axis, or for its elementwise
// consumer; what it reads must come, by padding and elementwise stages that nothing else reads,
// from a stage that multi-level tiling is worth for. The rows are the first axis with windows.
// Elementwise stages are finished from the product's registers, once per element. Padding is left
// out where it can be (rules/inline_padding.hpp), else computed with the block. Rows that the
// windows of two blocks share are computed twice.
//     Y = X * W; E = max(Y, 0); P[h, w, c] = max over r, q of E[2 h + r, 2 w + q, c]
//         -->  h.0 { E: h w.0 c.0 { Y: w.0 c.0 h w.1 c.1 k.0 w.2 c.2 k.1 w.3 c.3 } w.1 c.1
//                    h.1 w c r q: P }
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/rules/inline_padding.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct WindowRows {
  static constexpr std::string_view name() { return "window_rows"; }

  Applicability applicability(const RuleInput& input) const {
    return group_of(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    std::optional<Group> group = group_of(input);
    TENSORSMITH_ASSERT(group.has_value(), "expand of a rule that does not apply");
    State state = std::move(group->state);
    const std::vector<std::int32_t> splits =
        tile_stage(state, group->product, input.options.tiling_structure, group->held);
    const std::int32_t finished =
        group->finish < 0 ? -1 : follow(state, group->finish, splits, group->held);
    split_rows(state, input.stage, group->outer);
    const auto block = static_cast<std::int32_t>(group->outer.size()) - 1;
    if (group->windows != input.stage) {  // a vector of windows at a time
      const auto count = static_cast<std::int32_t>(num_iterators(state, input.stage));
      grow(state, ComputeAtStep{group->windows, input.stage, count - 2});
    }
    for (std::int32_t stage : group->between) {
      grow(state, ComputeAtStep{stage, input.stage, block});
    }
    if (group->finish < 0) {
      grow(state, ComputeAtStep{group->product, input.stage, block});
    } else {
      grow(state, ComputeAtStep{group->finish, input.stage, block});
      grow(state, ComputeAtStep{group->product, group->finish, finished});
    }
    // The stages are placed; what the product reads is left to the other rules.
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  /// Per axis of the last stage: the one dimension that moves with it, and with no other; -1: none.
  using Map = std::vector<std::int32_t>;

  struct Group {
    State state;                        ///< padding and elementwise stages may be inlined
    std::int32_t windows = -1;          ///< the stage that reduces them
    std::vector<std::int32_t> between;  ///< padding that stays, the last first
    std::int32_t finish = -1;           ///< elementwise, behind the product; -1: none
    std::int32_t product = -1;
    std::vector<std::int32_t> outer;  ///< axes of the last stage outside of a block, rows last
    IdList held;                      ///< the same axes of the product
  };

  static std::size_t num_iterators(const State& state, std::int32_t stage) {
    return state.stage(static_cast<std::size_t>(stage)).iterators.size();
  }

  static std::optional<Group> group_of(const RuleInput& input) {
    const auto last = static_cast<std::size_t>(input.stage);
    if (input.state.stage(last).is_placeholder || input.state.operation(last).axes.empty() ||
        input.state.stage(last).compute_at != ComputeAt::root ||
        is_tiled(input.state, input.stage) || !input.options.tiling_structure.starts_with("SS")) {
      return std::nullopt;
    }
    Group group{input.state, windows_of(input), {}, -1, -1, {}, {}};
    if (group.windows < 0) {
      return std::nullopt;
    }
    Map map;
    for (std::size_t a = 0; a < input.state.operation(last).axes.size(); ++a) {
      map.push_back(static_cast<std::int32_t>(a));
    }
    std::vector<bool> is_window(map.size(), false);
    for (std::int32_t reader = group.windows; group.product < 0;) {
      const std::int32_t stage = only_source(input, reader);
      if (stage < 0) {
        return std::nullopt;
      }
      map = moved(input.state, reader, stage, map, is_window);
      add(group, input, stage);
      reader = stage;
    }
    return choose_rows(group, input, map, is_window) ? std::optional<Group>(std::move(group))
                                                     : std::nullopt;
  }

  /// The stage that reduces windows: the one at hand, or the one that it continues; -1: none.
  static std::int32_t windows_of(const RuleInput& input) {
    const auto reduces = [&](std::int32_t stage) {
      return has_non_spatial_iterator(input.state, stage) && !needs_tiling(input.analysis, stage);
    };
    if (has_non_spatial_iterator(input.state, input.stage)) {
      const bool is_last =
          !single_elementwise_consumer(input.state, input.analysis, input.stage).has_value();
      return is_last && reduces(input.stage) ? input.stage : -1;
    }
    const std::int32_t stage = only_source(input, input.stage);
    const bool continues =
        stage >= 0 && reduces(stage) &&
        input.analysis.elementwise_match(static_cast<std::uint32_t>(stage),
                                         static_cast<std::uint32_t>(input.stage));
    return continues && num_iterators(input.state, input.stage) > 1 ? stage : -1;
  }

  /// The only stage that `reader` reads, inputs aside, if nothing else reads it; -1: none.
  static std::int32_t only_source(const RuleInput& input, std::int32_t reader) {
    std::int32_t source = -1;
    for (std::uint32_t p : input.analysis.producers(static_cast<std::uint32_t>(reader))) {
      if (!input.analysis.is_placeholder(p)) {
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
    const bool is_free = input.state.stage(id).compute_at == ComputeAt::root &&
                         !is_tiled(input.state, source) &&
                         !detail::is_argument(input.state.dag(), input.state.operation(id)) &&
                         input.analysis.readers(static_cast<std::uint32_t>(source)).size() == 1;
    return is_free ? source : -1;
  }

  /// Gives the next stage on the way from the windows to the product its part.
  static void add(Group& group, const RuleInput& input, std::int32_t stage) {
    if (has_non_spatial_iterator(input.state, stage)) {
      group.product = stage;
      return;
    }
    const RuleInput at{group.state, input.analysis, stage, input.options};
    if (group.finish < 0 && finishes_product(input, stage)) {
      group.finish = stage;
    } else if (AlwaysInline::inlines(at) ||
               InlinePadding{}.applicability(at) == Applicability::apply) {
      grow(group.state, ComputeInlineStep{stage});
    } else {
      group.between.push_back(stage);
    }
  }

  /// Whether the stage, and cheap ones in front of it, continue a product element by element.
  static bool finishes_product(const RuleInput& input, std::int32_t stage) {
    for (std::int32_t reader = stage;;) {
      const std::int32_t source = only_source(input, reader);
      if (source < 0 || !input.analysis.elementwise_match(static_cast<std::uint32_t>(source),
                                                          static_cast<std::uint32_t>(stage))) {
        return false;
      }
      if (has_non_spatial_iterator(input.state, source)) {
        return true;
      }
      if (!AlwaysInline::inlines(RuleInput{input.state, input.analysis, source, input.options})) {
        return false;
      }
      reader = source;
    }
  }

  /// The map of `stage` from that of its reader. `is_window`: axes that an index of the reader adds
  /// to a reduction axis are marked.
  static Map moved(const State& state, std::int32_t reader, std::int32_t stage, const Map& map,
                   std::vector<bool>& is_window) {
    const ExprPool& pool = state.dag().pool();
    const Operation& op = state.operation(static_cast<std::size_t>(reader));
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
        if (read == nullptr ||
            state.dag().tensor(read->tensor).operation != static_cast<std::uint32_t>(stage)) {
          return;
        }
        for (std::size_t a = 0; a < map.size(); ++a) {
          std::int32_t dimension = -1, count = 0;
          for (std::size_t d = 0; map[a] >= 0 && d < read->indices.size(); ++d) {
            const IdList used = axes_in(op.axes, read->indices[d]);
            if (has_item(used, map[a])) {
              dimension = used.size() == 1 ? static_cast<std::int32_t>(d) : -1;
              is_window[a] = is_window[a] || !axes_in(op.reduce_axes, read->indices[d]).empty();
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
  static bool choose_rows(Group& group, const RuleInput& input, const Map& map,
                          const std::vector<bool>& is_window) {
    if (!needs_tiling(input.analysis, group.product)) {
      return false;
    }
    const std::vector<Axis>& axes =
        input.state.operation(static_cast<std::size_t>(input.stage)).axes;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (!is_window[a] || axes[a].extent == 1) {
        continue;
      }
      if (map[a] < 0) {
        return false;
      }
      for (std::size_t b = 0; b < a; ++b) {
        if (axes[b].extent > 1 && !is_window[b] && map[b] >= 0 &&
            moves_with(input.state, group.product, map[b], map[a])) {
          group.outer.push_back(static_cast<std::int32_t>(b));
          group.held.push_back(map[b]);
        }
      }
      group.outer.push_back(static_cast<std::int32_t>(a));
      group.held.push_back(map[a]);
      return true;
    }
    return false;
  }

  /// Whether every read of the stage that uses its axis `rows` uses `axis`, and no other does.
  static bool moves_with(const State& state, std::int32_t stage, std::int32_t axis,
                         std::int32_t rows) {
    const ExprPool& pool = state.dag().pool();
    const Operation& op = state.operation(static_cast<std::size_t>(stage));
    bool holds = true;
    for (ExprId body : op.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
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

  /// Splits what finishes the product as that one's outermost level. Returns the last of the outer
  /// loops: there the product is computed.
  static std::int32_t follow(State& state, std::int32_t stage,
                             const std::vector<std::int32_t>& splits, const IdList& held) {
    const auto count = static_cast<std::int32_t>(num_iterators(state, stage));
    IdList whole, outer, inner;
    std::int32_t position = 0;
    std::size_t next = 0;
    for (std::int32_t axis = 0; axis < count; ++axis) {
      if (has_item(held, axis)) {
        whole.push_back(position++);
        continue;
      }
      grow(state, FollowSplitStep{stage, position, splits[next++], 1});
      outer.push_back(position++);
      inner.push_back(position++);
    }
    order_loops(state, stage, whole, outer, inner);
    return static_cast<std::int32_t>(whole.size() + outer.size()) - 1;
  }

  /// Splits the last of the axes `outer` and brings all of them, of that one the outer part, to
  /// the front.
  static void split_rows(State& state, std::int32_t stage, const std::vector<std::int32_t>& outer) {
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
  }
};

}  // namespace tensorsmith
