// SPDX-License-Identifier: Apache-2.0
// ChainRows: products and what is done with the rows of their results are computed block of rows
// by block of rows, so that what lies between them stays in the nearest caches.
//
// Floor 5. Own design (fused attention; products with a norm behind them). Legal for a stage that
// reduces nothing; the stages in front of it that nothing else reads follow it, as far back as they
// share rows: axes of the last stage that move each of them alone. Asked for where some product,
// a stage that multi-level tiling is worth for, has its rows read whole and not only element by
// element by the last stage. All are computed at the loop over blocks of the last of those axes;
// each product is tiled in there, the rows of all as those of the first. An elementwise stage
// behind a product takes its results from the registers, and is kept if several stages read it.
//     S = Q K^T; max, exp, sum of the rows of S; P = exp V; O = P / sum
//         -->  b i.0 { S: i.0 j.0 i.1 j.1 k.0 i.2 j.2 k.1 i.3 j.3; max; exp; sum;
//                      d.0 { P: i.0 d.0 i.1 d.1 j.0 i.2 d.2 j.1 i.3 d.3 } i.1 d.1: O }
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/row_group.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/rules/inline_cheap.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct ChainRows {
  static constexpr std::string_view name() { return "chain_rows"; }

  Applicability applicability(const RuleInput& input) const {
    return chain_of(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    std::optional<Chain> chain = chain_of(input);
    TENSORSMITH_ASSERT(chain.has_value(), "expand of a rule that does not apply");
    State state = std::move(chain->state);
    const std::vector<std::int32_t>& shared = chain->shared;
    const auto axis_of = [&](std::int32_t stage, std::int32_t axis) {
      return chain->maps[static_cast<std::size_t>(stage)][static_cast<std::size_t>(axis)];
    };
    // Products, from the first to the last.
    std::int32_t row_source = -1;
    std::vector<std::int32_t> fused;  // stages that finish a product
    std::vector<ComputeAtStep> places;
    for (std::size_t i = chain->stages.size(); i-- > 0;) {
      const std::int32_t stage = chain->stages[i];
      if (!is_product(input, stage)) {
        continue;
      }
      IdList held;
      for (std::size_t s = 0; s + 1 < shared.size(); ++s) {
        held.push_back(axis_of(stage, shared[s]));
      }
      const std::int32_t row_axis = axis_of(stage, shared.back());
      const std::vector<std::int32_t> splits =
          tile_stage(state, stage, input.options.tiling_structure, held,
                     row_source < 0 ? -1 : row_axis, row_source);
      row_source = row_source < 0 ? splits[place_of(row_axis, held)] : row_source;
      const auto target = single_elementwise_consumer(state, input.analysis, stage);
      if (target && !has_item(fused, *target)) {
        fused.push_back(*target);
        places.push_back({stage, *target, follow(state, *target, splits, held, row_axis)});
      }
    }
    const auto num_outer = static_cast<std::int32_t>(shared.size()) - 1;
    if (!has_item(fused, input.stage)) {
      split_rows(state, input.stage, shared, row_source);
    }
    for (std::int32_t stage : chain->stages) {
      ComputeAtStep place{stage, input.stage, num_outer};
      for (const ComputeAtStep& other : places) {
        place = other.stage == stage ? other : place;
      }
      grow(state, place);
    }
    // The stages are placed; inputs between them may still be packed.
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  struct Chain {
    State state;                           ///< cheap stages in between are inlined
    std::vector<std::int32_t> stages;      ///< from the last to the first, the last not in it
    std::vector<detail::RowAxisMap> maps;  ///< by stage
    std::vector<std::int32_t> shared;      ///< axes of the last stage that all have
  };

  static bool is_product(const RuleInput& input, std::int32_t stage) {
    return needs_tiling(input.analysis, stage) &&
           !input.state.operation(static_cast<std::size_t>(stage)).reduce_axes.empty();
  }

  static std::optional<Chain> chain_of(const RuleInput& input) {
    const auto last = static_cast<std::size_t>(input.stage);
    if (input.state.stage(last).is_placeholder ||
        input.state.stage(last).compute_at != ComputeAt::root ||
        is_tiled(input.state, input.stage) || has_non_spatial_iterator(input.state, input.stage) ||
        !input.options.tiling_structure.starts_with("SS") ||
        !detail::reduces_up_to(input.state, last)) {
      return std::nullopt;
    }
    Chain chain{input.state, {}, std::vector<detail::RowAxisMap>(input.state.num_stages()), {}};
    const std::vector<Axis>& axes = input.state.operation(last).axes;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      chain.maps[last].push_back(static_cast<std::int32_t>(a));
      if (axes[a].extent > 1) {
        chain.shared.push_back(static_cast<std::int32_t>(a));
      }
    }
    for (std::int32_t p = input.stage - 1; p >= 0; --p) {
      const auto id = static_cast<std::size_t>(p);
      const RuleInput at{chain.state, input.analysis, p, input.options};
      if (chain.state.stage(id).is_placeholder ||
          chain.state.stage(id).compute_at == ComputeAt::inlined) {
        continue;
      }
      if (AlwaysInline::inlines(at) && !is_kept(at) && !InlineCheap::keeps(at)) {
        grow(chain.state, ComputeInlineStep{p});
      } else if (!add(chain, at, input.stage)) {
        break;
      }
    }
    const bool has_rows_of_products = any_item(chain.stages, [&](std::int32_t stage) {
      return is_product(input, stage) &&
             single_elementwise_consumer(chain.state, input.analysis, stage) != input.stage;
    });
    return has_rows_of_products ? std::optional<Chain>(std::move(chain)) : std::nullopt;
  }

  /// Whether the stage at hand belongs to the chain, which it then does.
  static bool add(Chain& chain, const RuleInput& at, std::int32_t last) {
    const auto id = static_cast<std::size_t>(at.stage);
    const std::vector<std::int32_t> readers = consumers(chain.state, at.analysis, at.stage);
    const bool follows = !readers.empty() && !is_tiled(chain.state, at.stage) &&
                         !at.analysis.stage(static_cast<std::uint32_t>(at.stage)).is_output &&
                         chain.state.stage(id).compute_at == ComputeAt::root &&
                         all_items(readers, [&](std::int32_t reader) {
                           return reader == last || has_item(chain.stages, reader);
                         });
    if (!follows) {
      return false;
    }
    detail::RowAxisMap map = detail::row_map_of(chain.state, at.stage, chain.maps,
                                                chain.maps[static_cast<std::size_t>(last)].size());
    std::vector<std::int32_t> shared = chain.shared;
    std::erase_if(shared,
                  [&](std::int32_t axis) { return map[static_cast<std::size_t>(axis)] < 0; });
    if (shared.empty()) {
      return false;
    }
    chain.maps[id] = std::move(map);
    chain.stages.push_back(at.stage);
    chain.shared = std::move(shared);
    return true;
  }

  /// Whether a stage that could be inlined finishes a product and is read more than once.
  static bool is_kept(const RuleInput& at) {
    if (consumers(at.state, at.analysis, at.stage).size() < 2) {
      return false;
    }
    for (std::int32_t stage = at.stage;;) {
      std::int32_t producer = -1;
      for (std::uint32_t p : at.analysis.stage(static_cast<std::uint32_t>(stage)).producers) {
        if (!at.state.stage(p).is_placeholder) {
          if (producer >= 0) {
            return false;
          }
          producer = static_cast<std::int32_t>(p);
        }
      }
      if (producer < 0 || !at.analysis.elementwise_match(static_cast<std::uint32_t>(producer),
                                                         static_cast<std::uint32_t>(stage))) {
        return false;
      }
      if (is_product(at, producer)) {
        return true;
      }
      stage = producer;
    }
  }

  /// The place of a spatial iterator among those that are not held.
  static std::size_t place_of(std::int32_t axis, const IdList& held) {
    return static_cast<std::size_t>(axis) -
           count_items(held, [&](std::int32_t other) { return other < axis; });
  }

  /// Splits an elementwise stage behind a product as that one's outermost level, the rows outside.
  /// Returns the loop at which the product is computed. Axes are those of the product.
  static std::int32_t follow(State& state, std::int32_t stage,
                             const std::vector<std::int32_t>& splits, const IdList& held,
                             std::int32_t row_axis) {
    const auto count =
        static_cast<std::int32_t>(state.operation(static_cast<std::size_t>(stage)).axes.size());
    IdList whole, rows, outer, inner_rows, inner;
    std::int32_t position = 0;
    for (std::int32_t axis = 0; axis < count; ++axis) {
      if (has_item(held, axis)) {
        whole.push_back(position++);
        continue;
      }
      grow(state, FollowSplitStep{stage, position, splits[place_of(axis, held)], 1});
      (axis == row_axis ? rows : outer).push_back(position++);
      (axis == row_axis ? inner_rows : inner).push_back(position++);
    }
    order_loops(state, stage, whole, rows, outer, inner_rows, inner);
    return static_cast<std::int32_t>(whole.size() + rows.size() + outer.size()) - 1;
  }

  /// Splits the rows of the last stage, which finishes no product.
  static void split_rows(State& state, std::int32_t stage, const std::vector<std::int32_t>& shared,
                         std::int32_t source) {
    const auto count =
        static_cast<std::int32_t>(state.operation(static_cast<std::size_t>(stage)).axes.size());
    IdList outer, inner;
    std::int32_t position = 0;
    for (std::int32_t axis = 0; axis < count; ++axis) {
      if (axis == shared.back()) {
        grow(state, FollowSplitStep{stage, position, source, 1});
        outer.push_back(position++);
        inner.push_back(position++);
      } else {
        (has_item(shared, axis) ? outer : inner).push_back(position++);
      }
    }
    order_loops(state, stage, outer, inner);
  }
};

}  // namespace tensorsmith
