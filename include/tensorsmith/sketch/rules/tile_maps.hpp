// SPDX-License-Identifier: Apache-2.0
// TileMaps: tiles of a stage that computes elements out of elements elsewhere: transpositions,
// other index maps, stencils.
//
// Floor 5. Own design (digits of an axis: the factors by which it is divided are loops). Legal for
// an output without reductions; asked in workloads without products, where a read lies in another
// order than the result, an axis is divided, or one operand is read at several places. The untiled
// form stays another sketch.
//   1 Axes are cut into digits, so that no quotient is left:
//     O[i] = A[i % 64, i / 64]  -->  for i.0, i.1 (0,64): O[64 * i.0 + i.1] = A[i.1, i.0]
//   2 Every loop of some length gets an outer and an inner part:
//     i j  -->  i.0 j.0 i.1 j.1
//   3 One sketch for each order of the inner parts that code generation makes whole vectors of: as
//     they are, and with the loop u along which a read is dense next to the loop v along which the
//     result is: ... u.1 v.1 and ... v.1 u.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/collapse.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/map_query.hpp"
#include "tensorsmith/sketch/rule.hpp"

namespace tensorsmith {

struct TileMaps {
  static constexpr std::string_view name() { return "tile_maps"; }

  Applicability applicability(const RuleInput& input) const {
    return plan_of(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    const std::optional<Plan> plan = plan_of(input);
    TENSORSMITH_ASSERT(plan.has_value(), "expand of a rule that does not apply");
    std::vector<Derivation> derived;
    for (const IdList& order : plan->orders) {
      State state = plan->cut;
      IdList outer, inner(plan->loops.size(), 0);
      std::int32_t position = 0;
      for (std::size_t i = 0; i < plan->loops.size(); ++i) {
        if (plan->loops[i].extent > whole_extent) {
          grow(state, split_of(state, input.stage, position, LengthList(1, unknown_length)));
          outer.push_back(position++);
        }
        inner[i] = position++;
      }
      IdList ordered;
      for (std::int32_t loop : order) {
        ordered.push_back(inner[static_cast<std::size_t>(loop)]);
      }
      order_loops(state, input.stage, outer, ordered);
      derived.push_back(Derivation{std::move(state), input.stage - 1});
    }
    return derived;
  }

 private:
  /// Shorter loops are not cut: a tile has all of them.
  static constexpr std::int64_t whole_extent = 4;

  /// A loop before tiling: how far its axis moves in one iteration.
  struct Loop {
    std::size_t axis;
    std::int64_t step, extent;
  };
  struct Plan {
    State cut;  ///< axes are digits
    std::vector<Loop> loops;
    std::vector<IdList> orders;  ///< of the inner parts, by loop
  };

  static std::optional<Plan> plan_of(const RuleInput& input) {
    const auto stage = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(stage);
    if (op.is_placeholder() || op.axes.empty() || !op.reduce_axes.empty() ||
        !input.analysis.is_output(static_cast<std::uint32_t>(input.stage)) ||
        is_tiled(input.state, input.stage) || !op.attrs.no_split_at_inner.empty() ||
        !has_no_products(input.analysis)) {
      return std::nullopt;
    }
    const IndexMaps maps = index_maps(input);
    Plan plan{input.state, {}, {}};
    const bool has_digits = cut_digits(input, maps, plan);
    const std::optional<std::int32_t> dense = dense_loop(input.state, maps, plan.loops);
    if (!maps.is_complete() || !(has_digits || dense || reads_neighbours(maps))) {
      return std::nullopt;
    }
    IdList natural;
    for (std::size_t i = 0; i < plan.loops.size(); ++i) {
      natural.push_back(static_cast<std::int32_t>(i));
    }
    plan.orders.push_back(natural);
    if (dense) {
      const std::int32_t last = natural.back();
      IdList others;
      for (std::int32_t loop : natural) {
        if (loop != *dense && loop != last) {
          others.push_back(loop);
        }
      }
      for (const bool stores_rows : {false, true}) {
        IdList order = others;
        order.push_back(stores_rows ? last : *dense);
        order.push_back(stores_rows ? *dense : last);
        if (!has_item(plan.orders, order)) {
          plan.orders.push_back(order);
        }
      }
    }
    return plan;
  }

  /// Splits the axes that are divided; where none is, runs of axes become one loop. Whether an axis
  /// was split.
  static bool cut_digits(const RuleInput& input, const IndexMaps& maps, Plan& plan) {
    const auto& axes = input.state.operation(static_cast<std::size_t>(input.stage)).axes;
    bool has_digits = false;
    std::int32_t position = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::vector<std::int64_t> lengths = maps.digits(a);
      std::int64_t step = 1;
      for (std::int64_t length : lengths) {
        step *= length;
      }
      plan.loops.push_back({a, step, ceil_div(axes[a].extent, step)});
      for (std::int64_t length : lengths) {
        step /= length;
        plan.loops.push_back({a, step, length});
      }
      if (!lengths.empty()) {
        has_digits = true;
        grow(plan.cut,
             split_of(plan.cut, input.stage, position, LengthList(lengths.begin(), lengths.end())));
      }
      position += static_cast<std::int32_t>(lengths.size()) + 1;
    }
    if (has_digits || !input.options.collapse_axes) {
      return has_digits;
    }
    const std::vector<IdList> runs = collapsible_axes(input.state, input.stage, -1);
    collapse_axes(plan.cut, input.stage, runs);
    for (std::size_t r = runs.size(); r-- > 0;) {
      const auto first = static_cast<std::size_t>(runs[r].front());
      const auto last = static_cast<std::size_t>(runs[r].back());
      for (std::size_t a = first; a < last; ++a) {
        plan.loops[last].extent *= plan.loops[a].extent;
      }
      plan.loops.erase(plan.loops.begin() + static_cast<std::ptrdiff_t>(first),
                       plan.loops.begin() + static_cast<std::ptrdiff_t>(last));
    }
    return false;
  }

  /// The loop, not the last one, along which most reads are dense, among those with more than one
  /// iteration; only reads that are far apart along the last loop count.
  static std::optional<std::int32_t> dense_loop(const State& state, const IndexMaps& maps,
                                                const std::vector<Loop>& loops) {
    const auto stride = [&](const IndexMaps::Read& read, const Loop& loop) {
      return maps.stride(state, read, loop.axis, loop.step);
    };
    std::optional<std::int32_t> best;
    std::size_t most = 0;
    for (std::size_t i = 0; i + 1 < loops.size(); ++i) {
      const std::size_t count = count_items(maps.reads(), [&](const IndexMaps::Read& read) {
        const auto along_last = stride(read, loops.back());
        return stride(read, loops[i]) == 1 && along_last && *along_last != 0 && *along_last != 1;
      });
      if (loops[i].extent > 1 && count > most) {
        most = count;
        best = static_cast<std::int32_t>(i);
      }
    }
    return best;
  }

  static bool reads_neighbours(const IndexMaps& maps) {
    const auto& reads = maps.reads();
    for (std::size_t i = 0; i < reads.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (maps.are_shifted(reads[i], reads[j])) {
          return true;
        }
      }
    }
    return false;
  }
};

}  // namespace tensorsmith
