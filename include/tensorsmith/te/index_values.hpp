// SPDX-License-Identifier: Apache-2.0
// Which tensors say where something is read or what integers are divided by, and which of their
// values are legal: indices of a gather, divisors.
//
// Floor 2. Own design. Followed from the read through sums with known terms, products with positive
// constants, choices, casts and stages in between. A value with another way into an index (a
// minimum, a table) is taken for checked. A divisor is positive. Not here: drawing values
// (measure/fill.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/ir/interval.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

/// What the values of one tensor are used for.
struct IndexUse {
  bool is_index = false;   ///< any number will not do
  Interval legal;          ///< of an input; unbounded: nothing is known
  TensorId table;          ///< whose extent limits them most; none: a divisor
  bool is_chosen = false;  ///< through a choice: others may be legal where it takes the other arm
  std::int32_t dimension = 0;
};

namespace detail {

class IndexValues {
 public:
  explicit IndexValues(const ComputeDag& dag)
      : dag_(dag), pool_(dag.pool()), found_(dag.tensors().size()) {}

  std::vector<IndexUse> take() {
    for (const Operation& op : dag_.operations()) {
      for (ExprId body : op.bodies) {
        visit_nodes(pool_, body, [&](ExprId id) { visit(op, id); });
      }
    }
    return std::move(found_);
  }

 private:
  void visit(const Operation& op, ExprId id) {
    if (const TensorRead* read = pool_.as<TensorRead>(id)) {
      const auto& shape = dag_.tensor(read->tensor).shape;
      for (std::size_t d = 0; d < read->indices.size(); ++d) {
        mark(read->indices[d]);
        table_ = read->tensor;
        dimension_ = static_cast<std::int32_t>(d);
        restrict_value(op, read->indices[d], {0, shape[d] - 1}, 0);
      }
    }
    const Binary* node = pool_.as<Binary>(id);
    if (node != nullptr && is_integer(pool_.dtype(id)) && node->op >= BinaryOp::div &&
        node->op <= BinaryOp::floormod && has_data(node->b)) {
      mark(id);  // the dividend too: the least number divided by -1 is none
      table_ = TensorId{};
      restrict_value(op, node->b, {1, most_divisor}, 0);
    }
  }

  /// Whatever is read there, directly or by stages in between, is an index.
  void mark(ExprId id) {
    visit_nodes(pool_, id, [&](ExprId inner) {
      const TensorRead* read = pool_.as<TensorRead>(inner);
      if (read == nullptr || found_[read->tensor.value].is_index) {
        return;
      }
      found_[read->tensor.value].is_index = true;
      for (ExprId body : dag_.operation(dag_.tensor(read->tensor).operation).bodies) {
        mark(body);
      }
    });
  }

  bool has_data(ExprId id) const {
    bool found = pool_.as<TensorRead>(id) != nullptr;
    for_each_child(pool_[id], [&](ExprId child) { found = found || has_data(child); });
    return found;
  }
  Interval known_range(const Operation& op, ExprId id) const {
    VarRanges ranges;
    for (const auto* axes : {&op.axes, &op.reduce_axes}) {
      for (const Axis& axis : *axes) {
        ranges.set(axis.var, 0, axis.extent - 1);
      }
    }
    return interval_of(pool_, id, ranges);
  }

  /// The value of `id` in `op` must lie in `range`.
  void restrict_value(const Operation& op, ExprId id, Interval range, int depth) {
    if (depth > most_depth || range.min > range.max || !has_data(id)) {
      return;
    }
    if (const TensorRead* read = pool_.as<TensorRead>(id)) {
      return restrict_tensor(read->tensor, range, depth);
    }
    if (const Cast* cast = pool_.as<Cast>(id)) {
      return restrict_value(op, cast->a, range, depth + 1);
    }
    // Whatever is taken. Where both cannot hold, as for indices that count from the end if they are
    // negative, it is the last one.
    if (const Select* choice = pool_.as<Select>(id)) {
      ++num_choices_;
      restrict_value(op, choice->if_false, range, depth + 1);
      restrict_value(op, choice->if_true, range, depth + 1);
      --num_choices_;
      return;
    }
    const Binary* node = pool_.as<Binary>(id);
    if (node == nullptr) {
      return;
    }
    const bool is_left = has_data(node->a);
    if (is_left && has_data(node->b)) {
      return;
    }
    const ExprId data = is_left ? node->a : node->b;
    const Interval other = known_range(op, is_left ? node->b : node->a);
    if (!other.is_bounded()) {
      return;
    }
    if (node->op == BinaryOp::add) {
      restrict_value(op, data, {range.min - other.min, range.max - other.max}, depth + 1);
    } else if (node->op == BinaryOp::sub && is_left) {
      restrict_value(op, data, {range.min + other.max, range.max + other.min}, depth + 1);
    } else if (node->op == BinaryOp::mul && other.min == other.max && other.min > 0) {
      const std::int64_t factor = other.min;
      restrict_value(op, data, {-floor_div(-range.min, factor), floor_div(range.max, factor)},
                     depth + 1);
    }
  }
  void restrict_tensor(TensorId id, Interval range, int depth) {
    const TensorInfo& tensor = dag_.tensor(id);
    const Operation& op = dag_.operation(tensor.operation);
    if (!op.is_placeholder()) {
      if (op.reduce_axes.empty()) {
        restrict_value(op, op.bodies[tensor.output_index], range, depth + 1);
      }
      return;
    }
    found_[id.value].is_chosen = found_[id.value].is_chosen || num_choices_ > 0;
    Interval& known = found_[id.value].legal;
    const Interval both = !known.is_bounded()
                              ? range
                              : Interval{known.min > range.min ? known.min : range.min,
                                         known.max < range.max ? known.max : range.max};
    if (both.min > both.max) {
      return;
    }
    if (!known.is_bounded() || both.min > known.min || both.max < known.max) {
      found_[id.value].table = table_;
      found_[id.value].dimension = dimension_;
    }
    known = both;
  }

  static constexpr int most_depth = 64;
  static constexpr std::int64_t most_divisor = 100;  // of any integer type
  const ComputeDag& dag_;
  const ExprPool& pool_;
  std::vector<IndexUse> found_;
  int num_choices_ = 0;  ///< that the way to the value led through
  TensorId table_;       ///< what is restricted now, for its sake
  std::int32_t dimension_ = 0;
};

}  // namespace detail

/// By tensor id. With legal values every read stays in bounds, and nothing is divided by zero.
inline std::vector<IndexUse> index_values(const ComputeDag& dag) {
  return detail::IndexValues(dag).take();
}

}  // namespace tensorsmith::te
