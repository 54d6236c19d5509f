// SPDX-License-Identifier: Apache-2.0
// KeepRows: a product of a matrix and a vector, the matrix read along its rows, is left untiled.
//
// Floor 5. Own design. Nothing of the matrix is used twice, so there is nothing to tile for: the
// sum of a row has its vectors along the row, and rows are computed in blocks
// (lower/emit_lanes.hpp). Legal always; asked for a stage that needs multi-level tiling, reads some
// operand with every axis of its result and along the reduction, and none along its result. The
// tiled sketches stay.
//     Y[i] = sum over k of A[i, k] * X[k]  -->  for i, k
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct KeepRows {
  static constexpr std::string_view name() { return "keep_rows"; }

  Applicability applicability(const RuleInput& input) const {
    return is_matrix_vector(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    return {Derivation{input.state, input.stage - 1}};
  }

 private:
  static bool is_matrix_vector(const RuleInput& input) {
    const Operation& op = input.state.operation(static_cast<std::size_t>(input.stage));
    if (!needs_tiling(input.analysis, input.stage) || is_tiled(input.state, input.stage) ||
        op.reduce_axes.empty() || has_cache_write(input.state, input.stage)) {
      return false;
    }
    const ExprPool& pool = input.state.dag().pool();
    bool has_matrix = false, has_columns = false;
    for (ExprId body : op.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
        const TensorRead* read = pool.as<TensorRead>(id);
        if (read == nullptr || read->indices.empty()) {
          return;
        }
        const auto uses = [&](ExprId index, const Axis& axis) {
          return axis.extent > 1 && uses_var(pool, index, axis.var);
        };
        const ExprId last = read->indices.back();
        bool is_along_result = false, is_matrix = false, has_all = true;
        for (const Axis& axis : op.axes) {
          is_along_result = is_along_result || uses(last, axis);
          bool is_index = axis.extent == 1;
          for (ExprId index : read->indices) {
            is_index = is_index || uses(index, axis);
          }
          has_all = has_all && is_index;
        }
        for (const Axis& axis : op.reduce_axes) {
          is_matrix = is_matrix || uses(last, axis);
        }
        has_matrix = has_matrix || (is_matrix && has_all);
        has_columns = has_columns || is_along_result;
      });
    }
    return has_matrix && !has_columns;
  }
};

}  // namespace tensorsmith
