// SPDX-License-Identifier: Apache-2.0
// RowGroup: a stage and the stages in front of it that only it needs, if something of them reduces.
//
// Floor 5. Own design; for the rules that compute rows stage by stage (rules/attach_rows.hpp on
// CPUs, rules/reduce_rows.hpp on GPUs).
//     for i: max; for i, j: exp; for i: sum; for i, j: norm
//         -->  norm, and in front of it sum, exp, max; they share the axis i
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct RowGroup {
  State state;                       ///< cheap stages in between are inlined
  std::vector<std::int32_t> stages;  ///< from the last to the first, without the stage itself
  std::vector<std::int32_t> shared;  ///< axes of the stage that are axes of all of them
  std::int32_t next_stage;
};

namespace detail {

/// Per axis of the last stage: the axis of another stage that moves with it alone; -1: none.
using RowAxisMap = std::vector<std::int32_t>;

/// `axis_of`: per axis of `op` the axis of the last stage, or -1.
inline void add_row_reads(const State& state, const Operation& op,
                          const std::vector<std::int32_t>& axis_of, std::int32_t p,
                          RowAxisMap& map) {
  const ExprPool& pool = state.dag().pool();
  for (ExprId body : op.bodies) {
    visit_nodes(pool, body, [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read == nullptr) {
        return;
      }
      std::vector<std::int32_t> moved(read->indices.size(), -1);
      for (std::size_t d = 0; d < read->indices.size(); ++d) {
        const VarRef* ref = pool.as<VarRef>(read->indices[d]);
        for (std::size_t a = 0; ref != nullptr && a < op.axes.size(); ++a) {
          moved[d] = op.axes[a].var == ref->var ? axis_of[a] : moved[d];
        }
      }
      const std::uint32_t producer = state.dag().tensor(read->tensor).operation;
      if (producer != static_cast<std::uint32_t>(p)) {
        if (state.stage(producer).compute_at == ComputeAt::inlined) {
          add_row_reads(state, state.operation(producer), moved, p, map);
        }
        return;
      }
      for (std::size_t a = 0; a < map.size(); ++a) {
        std::int32_t dimension = -1;
        for (std::size_t d = 0; d < moved.size(); ++d) {
          dimension =
              moved[d] == static_cast<std::int32_t>(a) ? static_cast<std::int32_t>(d) : dimension;
        }
        map[a] = map[a] == -2 || map[a] == dimension ? dimension : -1;
      }
    });
  }
}

/// Whether this stage or one before it reduces: where none does there is no need to look at them.
inline bool reduces_up_to(const State& state, std::size_t stage) {
  for (std::size_t p = 0; p <= stage; ++p) {
    if (!state.operation(p).reduce_axes.empty()) {
      return true;
    }
  }
  return false;
}

/// Of stage `p`, whose readers have their maps; reads by inlined stages are looked through.
inline RowAxisMap row_map_of(const State& state, std::int32_t p,
                             const std::vector<RowAxisMap>& maps, std::size_t num_axes) {
  RowAxisMap map(num_axes, -2);  // -2: not read yet
  for (std::size_t reader = static_cast<std::size_t>(p) + 1; reader < maps.size(); ++reader) {
    if (maps[reader].empty()) {
      continue;
    }
    const Operation& op = state.operation(reader);
    std::vector<std::int32_t> axis_of_dimension(op.axes.size(), -1);
    for (std::size_t a = 0; a < num_axes; ++a) {
      if (maps[reader][a] >= 0) {
        axis_of_dimension[static_cast<std::size_t>(maps[reader][a])] = static_cast<std::int32_t>(a);
      }
    }
    add_row_reads(state, op, axis_of_dimension, p, map);
  }
  for (std::int32_t& dimension : map) {
    dimension = dimension < 0 ? -1 : dimension;
  }
  return map;
}

}  // namespace detail

/// That of a stage at the root that needs no tiling or reduces nothing; with `has_streams`, or
/// whose terms read something of their own. The others need no tiling. None where nothing reduces
/// or no axis is shared.
inline std::optional<RowGroup> row_group(const RuleInput& input, bool has_streams = false) {
  const auto stage = static_cast<std::size_t>(input.stage);
  if (input.state.stage(stage).is_placeholder ||
      input.state.stage(stage).compute_at != ComputeAt::root ||
      is_tiled(input.state, input.stage) ||
      (needs_tiling(input.analysis, input.stage) &&
       has_non_spatial_iterator(input.state, input.stage) &&
       !(has_streams && !reads_of_own_terms(input.state, input.stage).empty())) ||
      input.state.operation(stage).axes.empty() || !detail::reduces_up_to(input.state, stage)) {
    return std::nullopt;
  }
  RowGroup group{input.state, {}, {}, -1};
  std::vector<detail::RowAxisMap> maps(input.state.num_stages());
  bool reduces = has_non_spatial_iterator(input.state, input.stage);
  const std::size_t num_axes = input.state.operation(stage).axes.size();
  for (std::size_t a = 0; a < num_axes; ++a) {
    maps[stage].push_back(static_cast<std::int32_t>(a));
  }
  for (std::int32_t p = input.stage - 1; p >= 0; --p) {
    const auto id = static_cast<std::size_t>(p);
    const RuleInput at{group.state, input.analysis, p, input.options};
    if (group.state.stage(id).is_placeholder ||
        group.state.stage(id).compute_at == ComputeAt::inlined) {
      continue;
    }
    if (AlwaysInline::inlines(at)) {
      grow(group.state, ComputeInlineStep{p});
      continue;
    }
    const std::vector<std::int32_t> readers = consumers(group.state, input.analysis, p);
    const bool follows = !readers.empty() && !needs_tiling(input.analysis, p) &&
                         !is_tiled(group.state, p) &&
                         !input.analysis.stage(static_cast<std::uint32_t>(p)).is_output &&
                         group.state.stage(id).compute_at == ComputeAt::root &&
                         all_items(readers, [&](std::int32_t reader) {
                           return reader == input.stage || has_item(group.stages, reader);
                         });
    if (!follows) {
      group.next_stage = p;
      break;
    }
    group.stages.push_back(p);
    reduces = reduces || has_non_spatial_iterator(group.state, p);
  }
  if (!reduces) {
    return std::nullopt;
  }
  for (std::int32_t p : group.stages) {
    maps[static_cast<std::size_t>(p)] = detail::row_map_of(group.state, p, maps, num_axes);
  }
  for (std::size_t a = 0; a < num_axes; ++a) {
    const bool is_shared = all_items(
        group.stages, [&](std::int32_t p) { return maps[static_cast<std::size_t>(p)][a] >= 0; });
    if (is_shared && input.state.operation(stage).axes[a].extent > 1) {
      group.shared.push_back(static_cast<std::int32_t>(a));
    }
  }
  return group.shared.empty() ? std::nullopt : std::optional<RowGroup>(std::move(group));
}

}  // namespace tensorsmith
