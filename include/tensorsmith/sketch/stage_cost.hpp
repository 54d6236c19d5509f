// SPDX-License-Identifier: Apache-2.0
// What an element of a stage costs, and how often readers would compute it if it were inlined.
//
// Floor 5. Own design. Costs are in vector instructions (ir/node_cost.hpp). Not here: what follows
// for sketches (rules/inline_cheap.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/node_cost.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

namespace detail {

/// Of a formula, without the indices of what it reads; what occurs twice is computed once.
inline double formula_cost(const ExprPool& pool, ExprId id, std::vector<ExprId>& known) {
  if (has_item(known, id)) {
    return 0;
  }
  known.push_back(id);
  const ExprNode& node = pool[id];
  if (std::holds_alternative<TensorRead>(node.op)) {
    return 0;
  }
  double cost = vector_instructions(node);
  for_each_child(node, [&](ExprId child) { cost += formula_cost(pool, child, known); });
  return cost;
}

}  // namespace detail

/// Vector instructions for a vector of elements of the stage, its operands given.
inline double element_cost(const State& state, std::int32_t stage) {
  std::vector<ExprId> known;
  double cost = 0;
  for (ExprId body : state.operation(static_cast<std::size_t>(stage)).bodies) {
    cost += detail::formula_cost(state.dag().pool(), body, known);
  }
  return cost;
}

namespace detail {

/// How many points of the reader compute an element of the stage anew if that is inlined: its loops
/// inside of those that move the reads are none, they do not change the value.
inline double num_evaluations(const State& state, const AccessAnalysis& analysis,
                              std::int32_t stage, std::int32_t reader) {
  const ExprPool& pool = state.dag().pool();
  const Operation& op = state.operation(static_cast<std::size_t>(reader));
  const Access* access = nullptr;  // nullptr: by stages that are inlined
  for (const Access& each : analysis.read_by(static_cast<std::uint32_t>(stage))) {
    access = each.stage == static_cast<std::uint32_t>(reader) ? &each : access;
  }
  double points = 1, moved = 1;
  for (const auto* axes : {&op.axes, &op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      points *= static_cast<double>(axis.extent);
      const bool moves =
          access == nullptr || any_item(access->reads, [&](const ExprList& indices) {
            return any_item(indices, [&](ExprId at) { return uses_var(pool, at, axis.var); });
          });
      moved = moves ? points : moved;
    }
  }
  return needs_tiling(analysis, reader) ? points : moved;
}

}  // namespace detail

/// How often each element of the stage is computed if its readers compute it, on the mean: readers
/// of a window or a whole row compute it for each of their sums, products once per register tile.
inline double evaluations_if_inlined(const State& state, const AccessAnalysis& analysis,
                                     std::int32_t stage) {
  constexpr double uses_in_tile = 8;
  double elements = 1, evaluations = 0;
  for (const Axis& axis : state.operation(static_cast<std::size_t>(stage)).axes) {
    elements *= static_cast<double>(axis.extent);
  }
  for (std::int32_t reader : consumers(state, analysis, stage)) {
    const double uses = detail::num_evaluations(state, analysis, stage, reader) / elements;
    const bool has_tiles = needs_tiling(analysis, reader) && uses > 1;
    evaluations += has_tiles ? larger_of(uses / uses_in_tile, 1.0) : uses;
  }
  return evaluations;
}

/// Whether the stage takes the results of a product, a reduction that multi-level tiling is worth
/// for, element by element, perhaps by stages that are inlined: it is then computed from registers,
/// in the place of the product's own results.
inline bool finishes_product(const State& state, const AccessAnalysis& analysis,
                             std::int32_t stage) {
  for (;;) {
    std::int32_t producer = -1;
    for (std::uint32_t p : analysis.producers(static_cast<std::uint32_t>(stage))) {
      if (!state.stage(p).is_placeholder) {
        if (producer >= 0) {
          return false;
        }
        producer = static_cast<std::int32_t>(p);
      }
    }
    if (producer < 0 || !analysis.elementwise_match(static_cast<std::uint32_t>(producer),
                                                    static_cast<std::uint32_t>(stage))) {
      return false;
    }
    if (needs_tiling(analysis, producer) &&
        !state.operation(static_cast<std::size_t>(producer)).reduce_axes.empty()) {
      return true;
    }
    stage = producer;
  }
}

}  // namespace tensorsmith
