// SPDX-License-Identifier: Apache-2.0
// FactorSums: a sum of products in two stages, beside what is done with it as one.
//
// Floor 5. Own design (the order of contractions, as einsum libraries choose it, for any sum of
// products; what is left is asked again). Worth it where it takes fewer instructions: a product of
// n factors and its sum take n - 1 of them, what lies between the stages is stored and loaded. Of
// all ways to choose the axes that are summed first the one with the fewest is taken, of equal ones
// that with the inner axes.
//     Y[i,l] += A[i,j] * B[j,k] * C[k,l]  -->  Y.sum[j,l] += B[j,k] * C[k,l];
//                                              Y[i,l] += A[i,j] * Y.sum[j,l]
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/factor_sum.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct FactorSums {
  static constexpr std::string_view name() { return "factor_sums"; }

  Applicability applicability(const RuleInput& input) const {
    return best_step(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    grow(state, *best_step(input));
    return {Derivation{std::move(state), input.stage + 1}};  // what is left, one up
  }

 private:
  /// Fewer instructions than this part of those before are worth a second stage.
  static constexpr double least_gain = 0.8;
  static constexpr std::size_t most_reductions = 6;

  static std::optional<FactorSumStep> best_step(const RuleInput& input) {
    const auto id = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(id);
    if (input.state.stage(id).compute_at != ComputeAt::root || op.reduce_axes.empty() ||
        op.reduce_axes.size() > most_reductions ||
        !op.attrs.simplify_const_tensor_indices.empty() ||
        !detail::is_untouched(input.state, input.stage)) {
      return std::nullopt;
    }
    const ExprPool& pool = input.state.dag().pool();
    const ExprList factors = factors_of_sum(pool, op);
    if (factors.size() < 3) {
      return std::nullopt;
    }
    IdList all;
    for (std::size_t at = 0; at < op.axes.size() + op.reduce_axes.size(); ++at) {
      all.push_back(static_cast<std::int32_t>(at));
    }
    double least = least_gain * num_points(op, all) * num_instructions(factors.size());
    std::optional<FactorSumStep> best;
    for (std::uint32_t chosen = (1U << op.reduce_axes.size()) - 1; chosen > 0; --chosen) {
      const FactorSumStep step = step_for(input, factors, chosen);
      const auto num_first = count_items(factors, [&](ExprId factor) {
        return detail::is_moved_by(pool, op, factor, step.summed);
      });
      if (num_first == 0 || num_first == factors.size()) {
        continue;
      }
      IdList first = step.kept, left;
      for (std::int32_t at : all) {
        (has_item(step.summed, at) ? first : left).push_back(at);
      }
      const double stored = 2 * num_points(op, step.kept);
      const double cost = num_points(op, first) * num_instructions(num_first) + stored +
                          num_points(op, left) * num_instructions(factors.size() - num_first + 1);
      if (cost < least) {
        least = cost;
        best = step;
      }
    }
    return best;
  }

  /// That of the reduction axes whose bits are set; the last axis of the stage stays the last.
  static FactorSumStep step_for(const RuleInput& input, const ExprList& factors,
                                std::uint32_t chosen) {
    const ExprPool& pool = input.state.dag().pool();
    const Operation& op = input.state.operation(static_cast<std::size_t>(input.stage));
    const auto num_spatial = static_cast<std::int32_t>(op.axes.size());
    FactorSumStep step{input.stage, {}, {}};
    for (std::size_t r = 0; r < op.reduce_axes.size(); ++r) {
      if ((chosen >> r & 1U) != 0) {
        step.summed.push_back(num_spatial + static_cast<std::int32_t>(r));
      }
    }
    const auto keep = [&](std::int32_t at) {
      const bool is_used = any_item(factors, [&](ExprId factor) {
        return detail::is_moved_by(pool, op, factor, step.summed) &&
               uses_var(pool, factor, op.axis_var(at));
      });
      if (is_used && !has_item(step.summed, at)) {
        step.kept.push_back(at);
      }
    };
    for (std::int32_t at = 0; at < num_spatial - 1; ++at) {
      keep(at);
    }
    for (std::size_t r = 0; r < op.reduce_axes.size(); ++r) {
      keep(num_spatial + static_cast<std::int32_t>(r));
    }
    if (num_spatial > 0) {
      keep(num_spatial - 1);
    }
    return step;
  }

  static double num_points(const Operation& op, const IdList& positions) {
    double points = 1;
    for (std::int32_t at : positions) {
      const auto a = static_cast<std::size_t>(at);
      const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
      points *= static_cast<double>(axis.extent);
    }
    return points;
  }
  static double num_instructions(std::size_t num_factors) {
    return static_cast<double>(larger_of(num_factors, std::size_t{2}) - 1);
  }
};

}  // namespace tensorsmith
