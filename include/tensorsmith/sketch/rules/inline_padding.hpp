// SPDX-License-Identifier: Apache-2.0
// InlinePadding: zero padding is not computed into memory; its reader leaves such terms out.
//
// Floor 5. Own design (what direct convolutions of libraries do). Legal for a purely spatial stage
// with one reader, a reduction all of whose choices become conditions of its terms and that do not
// depend on the axis that becomes the reader's vector loop. The padded stage stays another sketch.
//     Pad[h] = if_then_else(h >= 1 && h < 15, X[h - 1], 0); Y[h] += Pad[h + r] * W[r]
//     -->  Y[h] += X[h + r - 1] * W[r] where 1 <= h + r < 15
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/lower/solved_loops.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct InlinePadding {
  static constexpr std::string_view name() { return "inline_padding"; }

  Applicability applicability(const RuleInput& input) const {
    const StageAccess& facts = input.analysis.stage(static_cast<std::uint32_t>(input.stage));
    const auto stage = static_cast<std::size_t>(input.stage);
    if (facts.is_placeholder || facts.is_output ||
        input.state.operation(stage).outputs.size() != 1 ||
        input.state.stage(stage).compute_at == ComputeAt::inlined ||
        is_tiled(input.state, input.stage) || has_non_spatial_iterator(input.state, input.stage) ||
        num_conditions(input.state, input.stage) == 0) {
      return Applicability::skip;
    }
    const std::vector<std::int32_t> readers = consumers(input.state, input.analysis, input.stage);
    return readers.size() == 1 && leaves_terms_out(input, readers.front()) ? Applicability::apply
                                                                           : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    grow(state, ComputeInlineStep{input.stage});
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  /// Comparisons in the values of the stage.
  static std::size_t num_conditions(const State& state, std::int32_t stage) {
    std::size_t count = 0;
    const ExprPool& pool = state.dag().pool();
    for (ExprId body : state.operation(static_cast<std::size_t>(stage)).bodies) {
      visit_expr(pool, body, [&](ExprId id) {
        const Binary* node = pool.as<Binary>(id);
        count += node != nullptr && is_comparison(node->op) ? 1 : 0;
      });
    }
    return count;
  }

  static bool leaves_terms_out(const RuleInput& input, std::int32_t reader) {
    const auto id = static_cast<std::size_t>(reader);
    const Operation& op = input.state.operation(id);
    State state = input.state;
    if (op.reduce_axes.empty() || op.axes.empty() ||
        !try_step(state, ComputeInlineStep{input.stage})) {
      return false;
    }
    const std::size_t before = term_conditions(input.state, id).size();
    std::vector<TermCondition> conditions = term_conditions(state, id);
    const std::size_t all = conditions.size();
    drop_unsolved(state, id, conditions);
    const std::vector<bool> in_vector = vector_axes(input.state, id);
    return conditions.size() == all && all == before + num_conditions(input.state, input.stage) &&
           !any_item(conditions, [&](const TermCondition& condition) {
             for (std::size_t a = 0; a < in_vector.size(); ++a) {
               if (in_vector[a] && condition.is_about(a)) {
                 return true;
               }
             }
             return false;
           });
  }

  /// Per spatial axis: whether the innermost loop runs along it. Where that is a reduction, the
  /// stage is not tiled yet: the last axis.
  static std::vector<bool> vector_axes(const State& state, std::size_t stage) {
    const Operation& op = state.operation(stage);
    const auto& iterators = state.stage(stage).iterators;
    std::vector<bool> in_vector(op.axes.size(), false);
    in_vector.back() = true;
    if (!iterators.empty() && iterators.back().kind == IteratorKind::spatial) {
      const std::vector<std::string> names = original_names(iterators.back().name);
      for (std::size_t a = 0; a < op.axes.size(); ++a) {
        in_vector[a] = has_item(names, clean_name(state.dag().pool().var_name(op.axes[a].var)));
      }
    }
    return in_vector;
  }
};

}  // namespace tensorsmith
