// SPDX-License-Identifier: Apache-2.0
// Questions about stages that compute nothing but elements: what rules for index maps and stencils
// ask.
//
// Floor 5. Own design.
#pragma once

#include <cstdint>

#include "tensorsmith/sketch/index_maps.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

/// Whether nothing of the workload is a product: then what is read, and in which order, is all that
/// there is to schedule.
inline bool has_no_products(const AccessAnalysis& analysis) {
  for (std::uint32_t stage = 0; stage < analysis.num_stages(); ++stage) {
    if (analysis.needs_multi_level_tiling(stage)) {
      return false;
    }
  }
  return true;
}

/// A stage that only moves elements: its body is one read, perhaps of another type.
inline bool is_copy(const ExprPool& pool, const Operation& op) {
  if (op.is_placeholder() || !op.reduce_axes.empty() || op.bodies.size() != 1) {
    return false;
  }
  ExprId body = op.bodies[0];
  while (const Cast* cast = pool.as<Cast>(body)) {
    body = cast->a;
  }
  return pool.as<TensorRead>(body) != nullptr;
}

/// A copy in another order than its own, which AlwaysInline leaves alone on CPUs.
inline bool is_inlineable_copy(const RuleInput& input) {
  const auto id = static_cast<std::size_t>(input.stage);
  return is_copy(input.state.dag().pool(), input.state.operation(id)) &&
         !input.analysis.is_output(static_cast<std::uint32_t>(input.stage)) &&
         !input.state.operation(id).attrs.never_inline && !is_tiled(input.state, input.stage) &&
         !AlwaysInline::inlines(input) && has_no_products(input.analysis);
}

/// A cheap stage that its reader reads at several places, in a workload without products:
/// AlwaysInline has it computed anew for each of them.
inline bool is_shared_stencil(const RuleInput& input) {
  const auto stage = static_cast<std::uint32_t>(input.stage);
  if (!AlwaysInline::inlines(input) || input.analysis.producers(stage).empty() ||
      is_copy(input.state.dag().pool(), input.state.operation(stage)) ||
      !has_no_products(input.analysis)) {
    return false;
  }
  return any_item(input.analysis.read_by(stage), [](const Access& access) {
    return any_item(access.reads,
                    [&](const ExprList& read) { return !(read == access.reads.front()); });
  });
}

/// Whether so many stages pass `test` that a choice for each of them would be too many sketches.
template <class Test>
bool has_many(const RuleInput& input, const Test& test) {
  constexpr std::int32_t most_choices = 3;
  std::int32_t count = 0;
  const auto num_stages = static_cast<std::int32_t>(input.state.num_stages());
  for (std::int32_t stage = 0; stage < num_stages && count <= most_choices; ++stage) {
    count += test(RuleInput{input.state, input.analysis, stage, input.options}) ? 1 : 0;
  }
  return count > most_choices;
}

/// The reads of a stage, through all producers that some sketch inlines.
inline IndexMaps index_maps(const RuleInput& input) {
  return {input.state, static_cast<std::size_t>(input.stage), [&](std::size_t producer) {
            const RuleInput at{input.state, input.analysis, static_cast<std::int32_t>(producer),
                               input.options};
            return input.state.stage(producer).compute_at == ComputeAt::inlined ||
                   AlwaysInline::inlines(at) || is_inlineable_copy(at);
          }};
}

}  // namespace tensorsmith
