// SPDX-License-Identifier: Apache-2.0
// row_arguments: whether a computation does the same with every row, and what a row of each
// argument is.
//
// Floor 2. Own design. Two dags of one computation with different numbers of rows show which axis
// the rows are. If no row is computed from another, and none asks for its number, the rows may be
// computed in any parts: those of an argument lie one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/te/same_computation.hpp"

namespace tensorsmith::te {

namespace detail {

class RowArguments {
 public:
  RowArguments(const ComputeDag& dag, std::int64_t rows, const ComputeDag& other,
               std::int64_t other_rows)
      : dag_(dag), other_(other), rows_(rows), other_rows_(other_rows) {}

  Result<std::vector<std::int64_t>, std::string> run() {
    if (dag_.operations().size() != other_.operations().size() ||
        dag_.arguments() != other_.arguments()) {
      return fail(std::string("it is another computation with another number of rows"));
    }
    row_axis_.assign(dag_.tensors().size(), -1);
    for (std::size_t stage = 0; stage < dag_.operations().size(); ++stage) {
      if (std::string problem = check(stage); !problem.empty()) {
        return fail(std::move(problem));
      }
    }
    std::vector<std::int64_t> elements;
    for (const TensorId id : dag_.arguments()) {
      const TensorInfo& tensor = dag_.tensor(id);
      const std::int32_t axis = row_axis_[id.value];
      std::int64_t product = axis < 0 ? 0 : 1;
      for (std::int32_t d = 0; d < static_cast<std::int32_t>(tensor.shape.size()); ++d) {
        const std::int64_t extent = tensor.shape[static_cast<std::size_t>(d)];
        if (d < axis && extent != 1) {
          return fail(in_quotes(tensor.name) + " has its rows apart from each other: axis " +
                      std::to_string(d) + " of " + std::to_string(extent) +
                      " iterations is around them");
        }
        product *= d > axis ? extent : 1;
      }
      elements.push_back(product);
    }
    if (all_items(elements, [](std::int64_t count) { return count == 0; })) {
      return fail(std::string("no argument has rows"));
    }
    return elements;
  }

 private:
  /// Which axes are rows; that the formulas are the same, and take rows as they come.
  std::string check(std::size_t stage) {
    const Operation &x = dag_.operation(stage), &y = other_.operation(stage);
    const std::string name = in_quotes(x.name);
    if (x.kind != y.kind || x.axes.size() != y.axes.size() || x.bodies.size() != y.bodies.size() ||
        x.reduce_axes.size() != y.reduce_axes.size() || x.outputs != y.outputs) {
      return name + " is another computation with another number of rows";
    }
    SameExpression same(dag_, other_, Names::count);
    const auto &shape = dag_.tensor(x.outputs[0]).shape, &other = other_.tensor(x.outputs[0]).shape;
    if (shape.size() != other.size()) {
      return name + " is another computation with another number of rows";
    }
    std::int32_t row = -1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == other[i]) {
        continue;
      }
      if (row >= 0 || shape[i] != rows_ || other[i] != other_rows_) {
        return name + ": the number of rows changes more than the extent of one axis";
      }
      row = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < x.axes.size(); ++i) {
      same.declare(x.axes[i].var, y.axes[i].var);
    }
    for (std::size_t i = 0; i < x.reduce_axes.size(); ++i) {
      same.declare(x.reduce_axes[i].var, y.reduce_axes[i].var);
      if (x.reduce_axes[i].extent != y.reduce_axes[i].extent) {
        return name + " reduces over the rows";
      }
    }
    for (const TensorId id : x.outputs) {
      row_axis_[id.value] = row;
    }
    const VarId var =
        row < 0 || x.is_placeholder() ? VarId{} : x.axes[static_cast<std::size_t>(row)].var;
    for (std::size_t i = 0; i < x.bodies.size(); ++i) {
      if (!same(x.bodies[i], y.bodies[i])) {
        return name + " has another formula with another number of rows";
      }
      if (!takes_rows_as_they_come(x.bodies[i], row, var)) {
        return name + " computes a row from other rows, or from its number";
      }
    }
    return {};
  }

  bool takes_rows_as_they_come(ExprId body, std::int32_t row, VarId var) const {
    const ExprPool& pool = dag_.pool();
    NodeSet seen(body);
    const auto is_row = [&](ExprId id) {
      const VarRef* ref = pool.as<VarRef>(id);
      return row >= 0 && ref != nullptr && ref->var == var;
    };
    const auto visit = [&](const auto& self, ExprId id) -> bool {
      if (is_row(id)) {
        return false;
      }
      if (!seen.insert(id)) {
        return true;
      }
      bool is_good = true;
      if (const TensorRead* read = pool.as<TensorRead>(id)) {
        const std::int32_t axis = row_axis_[read->tensor.value];
        for (std::size_t d = 0; d < read->indices.size(); ++d) {
          const ExprId index = read->indices[d];
          is_good =
              is_good && (static_cast<std::int32_t>(d) == axis ? is_row(index) : self(self, index));
        }
        return is_good;
      }
      for_each_child(pool[id], [&](ExprId child) { is_good = is_good && self(self, child); });
      return is_good;
    };
    return visit(visit, body);
  }

  const ComputeDag& dag_;
  const ComputeDag& other_;
  std::int64_t rows_, other_rows_;
  std::vector<std::int32_t> row_axis_;  // by tensor; -1: it has no rows
};

}  // namespace detail

/// Elements of one row of each argument, 0: it has no rows, all read the same. An error says in one
/// sentence why the rows of this computation cannot be computed in parts. `rows`: how many the dag
/// has; `other`: the same computation with other_rows of them, another number.
inline Result<std::vector<std::int64_t>, std::string> row_arguments(const ComputeDag& dag,
                                                                    std::int64_t rows,
                                                                    const ComputeDag& other,
                                                                    std::int64_t other_rows) {
  return detail::RowArguments(dag, rows, other, other_rows).run();
}

}  // namespace tensorsmith::te
