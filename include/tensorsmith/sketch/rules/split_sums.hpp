// SPDX-License-Identifier: Apache-2.0
// SplitSums: threads share the long sums of a small result; for CPUs.
//
// Floor 5. Own design (split-K). Legal for a stage with one reduction and data reuse. Worth it with
// several threads, where the sums are longer than the result has elements: rows or columns shared
// out among threads have each of them read a whole operand, parts of the sums do not. A second
// stage adds the parts up, in one order.
//     C[i, j] += A[i, k] * B[k, j]
//         -->  parallel p: C.rf[p, i, j] += A[i, p*L + k] * B[p*L + k, j];  C[i, j] += C.rf[p, i,
//         j]
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {

struct SplitSums {
  static constexpr std::string_view name() { return "split_sums"; }

  Applicability applicability(const RuleInput& input) const {
    return is_long(input) ? Applicability::apply : Applicability::skip;
  }

  /// The parts are as many as threads and stay one loop, the outermost.
  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const Operation& op = state.operation(static_cast<std::size_t>(input.stage));
    const auto rank = static_cast<std::int32_t>(op.axes.size());
    const std::int64_t length =
        ceil_div(op.reduce_axes[0].extent, std::int64_t{input.options.hardware.num_cores});
    grow(state, split_of(state, input.stage, rank, {length}));
    grow(state, RfactorStep{input.stage, rank, 0});
    tile_stage(state, input.stage, input.options.tiling_structure, {0});
    move_to_front(state, input.stage, rank);
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  /// The parts stand behind the outermost level of the `rank` other axes.
  static void move_to_front(State& state, std::int32_t stage, std::int32_t rank) {
    const auto count =
        static_cast<std::int32_t>(state.stage(static_cast<std::size_t>(stage)).iterators.size());
    IdList order{rank};
    for (std::int32_t i = 0; i < count; ++i) {
      if (i != rank) {
        order.push_back(i);
      }
    }
    order_loops(state, stage, order);
  }

  /// Of a part; shorter ones are not worth the way to memory and back.
  static constexpr std::int64_t least_terms = 1024;

  static bool is_long(const RuleInput& input) {
    const auto stage = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(stage);
    const std::int64_t threads = input.options.hardware.num_cores;
    if (threads < 2 || !is_untouched_sum(input.state, input.stage) || op.reduce_axes.size() != 1 ||
        op.bodies.size() != 1 || !needs_tiling(input.analysis, input.stage)) {
      return false;
    }
    const std::int64_t terms = op.reduce_axes[0].extent;
    return terms / threads >= least_terms &&
           terms > extent_product(input.state, input.stage, IteratorKind::spatial);
  }
};

}  // namespace tensorsmith
