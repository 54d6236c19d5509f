// SPDX-License-Identifier: Apache-2.0
// VectorizeSum: a product whose operands both lie along the sum has its vectors along it.
//
// Floor 5. Own design (dot products of rows, as libraries write products of a few rows with a
// transposed matrix). Legal for a stage that needs multi-level tiling and sums, adds or takes the
// extreme of, values that are read from neighbour to neighbour along its last reduction axis. Worth
// it where some operand is used a few times only, so that a copy that lies across the sum costs
// about as much as the product, and no tensor intrinsic is lost that the product has across the
// sum. One level of reduction: partial results are folded once.
//     C[i, j] over k of A[i, k] * B[j, k]
//         -->  C vectorizes its sum: i.0 j.0 i.1 j.1 k i.2 j.2    (i.2 x j.2 vectors of partial
//         sums)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"

namespace tensorsmith {

struct VectorizeSum {
  static constexpr std::string_view name() { return "vectorize_sum"; }

  Applicability applicability(const RuleInput& input) const {
    return is_worth_it(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    tile_stage(state, input.stage, "SSRS");
    grow(state, PragmaStep{input.stage, 0, hints::VectorizeSum{}});
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  /// A copy of an operand that is used more often than this is paid for.
  static constexpr std::int64_t most_uses = 32;
  /// Fewer elements along the sum are not worth folding vectors of partial results.
  static constexpr std::int64_t least_vectors = 4;

  static bool is_worth_it(const RuleInput& input) {
    const auto stage = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(stage);
    if (!is_untouched_sum(input.state, input.stage) || op.bodies.size() != 1 ||
        !needs_tiling(input.analysis, input.stage) ||
        input.state.stage(stage).compute_at != ComputeAt::root) {
      return false;
    }
    const ExprPool& pool = input.state.dag().pool();
    const Axis& sum = op.reduce_axes.back();
    bool is_dense = true, has_few_uses = false;
    std::int64_t widest = bytes_of(input.state.dag().tensor(op.outputs[0]).dtype), num_reads = 0;
    visit_expr(pool, op.bodies[0], [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read == nullptr || read->indices.empty()) {
        is_dense = is_dense && read == nullptr;
        return;
      }
      ++num_reads;
      const VarRef* last = pool.as<VarRef>(read->indices.back());
      is_dense = is_dense && last != nullptr && last->var == sum.var;
      std::int64_t uses = 1;
      for (const Axis& axis : op.axes) {
        uses *= any_item(read->indices, [&](ExprId at) { return uses_var(pool, at, axis.var); })
                    ? 1
                    : axis.extent;
      }
      for (std::size_t d = 0; d + 1 < read->indices.size(); ++d) {
        is_dense = is_dense && !uses_var(pool, read->indices[d], sum.var);
      }
      has_few_uses = has_few_uses || uses <= most_uses;
    });
    const std::int64_t lanes = input.options.hardware.vector_unit_bytes / widest;
    return is_dense && has_few_uses && num_reads > 1 && sum.extent >= least_vectors * lanes &&
           keeps_intrinsic(input, op, lanes);
  }

  /// Whether an intrinsic that computes the product has its groups along the sum too, if there is
  /// one: loops would be no match for it.
  static bool keeps_intrinsic(const RuleInput& input, const Operation& op, std::int64_t lanes) {
    const ExprPool& pool = input.state.dag().pool();
    bool has_one = false, has_groups = false;
    for (const TensorIntrinsic* intrinsic : input.options.intrinsics) {
      has_one = has_one || tensor_operands(pool, op, *intrinsic, op.axes.back().var).has_value();
      has_groups = has_groups || (operands_along_sum(pool, op, *intrinsic).has_value() &&
                                  op.reduce_axes.back().extent % (lanes * intrinsic->k) == 0);
    }
    return has_groups || !has_one;
  }
};

}  // namespace tensorsmith
