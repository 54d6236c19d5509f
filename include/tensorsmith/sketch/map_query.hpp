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
