// SPDX-License-Identifier: Apache-2.0
// PackPatches: a stage that sums over windows reads a packed copy of the windows (im2col).
//
// Floor 5. Own design (what convolutions by matrix products do, on the fly: the copy is made
// wherever the search computes it, as other packed copies are). Legal for a stage that is tiled
// later, with one read whose indices are sums, one of them along a spatial axis and a reduction
// axis at once. Worth it if many iterations use an element of the copy. A zero padding that is read
// is computed into the copy. The stage is a plain product afterwards: pixels are one loop, whatever
// their rows.
//     Y[h, w, c] += Pad[h + r, w + s, k] * W[r, s, k, c]
//     -->  Pad.patches[h, w, r, s, k] = Pad[h + r, w + s, k]
//          Y[h, w, c] += Pad.patches[h, w, r, s, k] * W[r, s, k, c]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/patches.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct PackPatches {
  static constexpr std::string_view name() { return "pack_patches"; }

  Applicability applicability(const RuleInput& input) const {
    return source_of(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const std::int32_t source = *source_of(input);
    if (!try_step(state, CacheReadStep{source, std::string(patches_scope), {input.stage}})) {
      return {};  // it reads the source twice, or at other places than sums of axes
    }
    if (is_padding(input, source)) {
      static_cast<void>(try_step(state, ComputeInlineStep{source}));  // arguments stay
    }
    return {Derivation{std::move(state), input.stage + 1}};  // the stage, one up, tiled next
  }

 private:
  /// A copy costs about as much as this many uses of an element.
  static constexpr std::int64_t least_uses = 16;

  /// A stage that only this one reads and that is cheap to compute anew where it is read: it sums
  /// nothing and calls nothing but choices.
  static bool is_padding(const RuleInput& input, std::int32_t source) {
    const auto id = static_cast<std::size_t>(source);
    const StageAccess& facts = input.analysis.stage(static_cast<std::uint32_t>(source));
    const Operation& op = input.state.operation(id);
    const ExprPool& pool = input.state.dag().pool();
    bool is_cheap = !op.attrs.never_inline && op.outputs.size() == 1;
    for (ExprId body : op.bodies) {
      visit_nodes(pool, body, [&](ExprId at) {
        const Call* call = pool.as<Call>(at);
        is_cheap = is_cheap && (call == nullptr || call->op == CallOp::if_then_else);
      });
    }
    return is_cheap && !facts.is_placeholder && facts.read_by.size() == 1 &&
           !has_non_spatial_iterator(input.state, source);
  }

  /// The stage whose windows this one reads.
  static std::optional<std::int32_t> source_of(const RuleInput& input) {
    const auto id = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(id);
    if (!needs_tiling(input.analysis, input.stage) || op.reduce_axes.empty() ||
        is_tiled(input.state, input.stage) || has_cache_write(input.state, input.stage) ||
        input.state.stage(id).compute_at != ComputeAt::root) {
      return std::nullopt;
    }
    const ExprPool& pool = input.state.dag().pool();
    std::optional<std::int32_t> source;
    for (ExprId body : op.bodies) {
      visit_nodes(pool, body, [&](ExprId at) {
        const TensorRead* read = pool.as<TensorRead>(at);
        if (read != nullptr && has_windows(pool, op, read->indices) &&
            num_uses(pool, op, read->indices) >= least_uses) {
          source = static_cast<std::int32_t>(input.state.dag().tensor(read->tensor).operation);
        }
      });
    }
    return source;
  }

  static bool runs_along(const ExprPool& pool, const std::vector<Axis>& axes, ExprId index) {
    return any_item(
        axes, [&](const Axis& axis) { return axis.extent > 1 && uses_var(pool, index, axis.var); });
  }
  static bool has_windows(const ExprPool& pool, const Operation& op, const ExprList& indices) {
    return any_item(indices, [&](ExprId index) {
      return runs_along(pool, op.axes, index) && runs_along(pool, op.reduce_axes, index);
    });
  }
  /// How many iterations share an element of the copy.
  static std::int64_t num_uses(const ExprPool& pool, const Operation& op, const ExprList& indices) {
    std::int64_t uses = 1;
    for (const Axis& axis : op.axes) {
      uses *= any_item(indices, [&](ExprId index) { return uses_var(pool, index, axis.var); })
                  ? 1
                  : axis.extent;
    }
    return uses;
  }
};

}  // namespace tensorsmith
