// SPDX-License-Identifier: Apache-2.0
// TileAcross: multi-level tiling with the vectors along another axis than the last.
//
// Floor 5. Own design (all libraries hold output channels in vectors, whatever the layout; the tile
// is transposed in registers as it is stored). Legal for a stage that needs multi-level tiling and
// has no elementwise consumer to fuse with. Worth it if the last axis leaves lanes empty (planes of
// 7, 14, 28, 56) or is read with gaps (strides), and another axis fills vectors.
// Axes beside it that run as one (collapse.hpp) are fused first.
//     Y[c, h, w] over r  -->  h.0 w.0 c.0 h.1 w.1 c.1 r.0 h.2 w.2 c.2 r.1 h.3 w.3 c.3
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sketch/collapse.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {

struct TileAcross {
  static constexpr std::string_view name() { return "tile_across"; }

  Applicability applicability(const RuleInput& input) const {
    return axis_of(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const std::optional<std::int32_t> axis = axis_of(input);
    std::int32_t across = *axis;
    auto count = static_cast<std::int32_t>(
        state.operation(static_cast<std::size_t>(input.stage)).axes.size());
    if (input.options.collapse_axes) {
      std::vector<IdList> runs = collapsible_axes(state, input.stage, -1);
      std::erase_if(runs, [&](const IdList& run) { return has_item(run, *axis); });
      collapse_axes(state, input.stage, runs);
      for (const IdList& run : runs) {
        const auto joined = static_cast<std::int32_t>(run.size()) - 1;
        count -= joined;
        across -= run.back() < *axis ? joined : 0;
      }
    }
    const auto all = static_cast<std::int32_t>(
        state.stage(static_cast<std::size_t>(input.stage)).iterators.size());
    ReorderStep order{input.stage, {}};
    for (std::int32_t i = 0; i < all; ++i) {
      if (i == count) {
        order.after.push_back(across);
      }
      if (i != across) {
        order.after.push_back(i);
      }
    }
    grow(state, order);
    tile_stage(state, input.stage, input.options.tiling_structure);
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  static constexpr double well_filled = 0.9;

  /// The longest axis that fills vectors and is a plain index wherever it is read.
  static std::optional<std::int32_t> axis_of(const RuleInput& input) {
    const auto stage = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(stage);
    if (!needs_tiling(input.analysis, input.stage) || op.axes.size() < 2 ||
        op.reduce_axes.empty() || is_tiled(input.state, input.stage) ||
        has_cache_write(input.state, input.stage) ||
        single_elementwise_consumer(input.state, input.analysis, input.stage)) {
      return std::nullopt;
    }
    const TensorInfo& output = input.state.dag().tensor(op.outputs[0]);
    const std::int64_t lanes = larger_of<std::int64_t>(
        input.options.hardware.vector_unit_bytes / bytes_of(output.dtype), 1);
    const std::int64_t last = op.axes.back().extent;
    const double filled =
        static_cast<double>(last) / static_cast<double>(ceil_div(last, lanes) * lanes);
    std::vector<bool> is_plain(op.axes.size(), true);
    bool has_gaps = false;
    const ExprPool& pool = input.state.dag().pool();
    for (ExprId body : op.bodies) {
      visit_nodes(pool, body, [&](ExprId id) {
        const TensorRead* read = pool.as<TensorRead>(id);
        for (std::size_t d = 0; read != nullptr && d < read->indices.size(); ++d) {
          const ExprId index = read->indices[d];
          for (std::size_t a = 0; a < op.axes.size(); ++a) {
            is_plain[a] = is_plain[a] && (pool.as<VarRef>(index) != nullptr ||
                                          !uses_var(pool, index, op.axes[a].var));
          }
          visit_nodes(pool, index, [&](ExprId part) {
            const Binary* product = pool.as<Binary>(part);
            has_gaps = has_gaps || (product != nullptr && product->op == BinaryOp::mul &&
                                    uses_var(pool, part, op.axes.back().var));
          });
        }
      });
    }
    if (filled >= well_filled && !has_gaps) {
      return std::nullopt;
    }
    std::optional<std::int32_t> best;
    for (std::size_t a = 0; a + 1 < op.axes.size(); ++a) {
      const bool is_longer =
          !best || op.axes[a].extent > op.axes[static_cast<std::size_t>(*best)].extent;
      if (is_plain[a] && op.axes[a].extent >= lanes && is_longer) {
        best = static_cast<std::int32_t>(a);
      }
    }
    return best;
  }
};

}  // namespace tensorsmith
