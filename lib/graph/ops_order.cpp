// SPDX-License-Identifier: Apache-2.0
// What depends on the order of elements along an axis: the largest k, running sums and products,
// the place of the largest as a vector.
#include <algorithm>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

std::size_t axis_of(const Node& node, std::size_t rank) {
  return normalized_axis(node.integer("axis", -1), rank);
}
Indices with(Indices at, std::size_t axis, const Expr& i) {
  at[axis] = i;
  return at;
}

void infer_top_k(Inference& in) {
  const std::size_t axis = axis_of(in.node(), in.rank(0));
  const std::int64_t k = in.constant(1, "k").integer(0);
  Shape shape = in.shape(0);
  if (k < 1 || k > shape[axis]) {
    refuse("takes " + std::to_string(k) + " of " + std::to_string(shape[axis]) + " elements");
  }
  shape[axis] = k;
  in.set(in.dtype(0), shape);
  in.set(DType::i64, shape);
}
/// Every element counts those before it in the order wanted; of equals the first is before. The
/// result looks for the element with its count. Comparisons, n * n + n * k of them, and no sorting.
void emit_top_k(Emitter& e) {
  const Shape& x = e.shape(0);
  const std::size_t axis = axis_of(e.node(), x.size());
  const bool takes_largest = e.node().integer("largest", 1) != 0;
  const te::ReduceAxis other = e.axis("k", x[axis]), place = e.axis("i", x[axis]);
  const te::Tensor rank = e.stage("rank", x, [&](const Indices& at) {
    const Expr own = e.read(0, at), theirs = e.read(0, with(at, axis, other));
    const Expr is_before =
        (takes_largest ? theirs > own : theirs < own) || (theirs == own && Expr(other) < at[axis]);
    return te::sum(te::select(is_before, whole(e, 1), whole(e, 0)), {other});
  });
  Shape taken = x;
  taken[axis] = e.value(1).constant.integer(0);
  // The last of several: numbers that are none have the rank of another.
  const te::Tensor found = e.stage("place", taken, [&](const Indices& at) {
    const Expr is_wanted = rank.at(with(at, axis, place)) == at[axis];
    return te::max(te::select(is_wanted, Expr(place), whole(e, 0)), {place});
  });
  e.define([&](const Indices& at) { return e.read(0, with(at, axis, found.at(at))); });
  e.define([&](const Indices& at) { return te::cast(DType::i64, found.at(at)); }, 1);
}

void infer_running(Inference& in) {
  (void)normalized_axis(in.constant(1, "axis").integer(0), in.rank(0));
  in.set(in.dtype(0), in.shape(0));
}
template <bool is_sum>
void emit_running(Emitter& e) {
  const Shape& x = e.shape(0);
  const std::size_t axis = normalized_axis(e.value(1).constant.integer(0), x.size());
  const bool leaves_out = e.node().integer("exclusive", 0) != 0;
  const bool goes_back = e.node().integer("reverse", 0) != 0;
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  const te::ReduceAxis k = e.axis("k", x[axis]);
  const Expr nothing = number(e, wide, is_sum ? 0 : 1);
  const te::Tensor total = e.stage("", x, [&](const Indices& at) {
    const Expr other(k);
    const Expr is_in = goes_back ? (leaves_out ? other > at[axis] : other >= at[axis])
                                 : (leaves_out ? other < at[axis] : other <= at[axis]);
    const Expr one = te::select(is_in, te::cast(wide, e.read(0, with(at, axis, other))), nothing);
    return is_sum ? te::sum(one, {k}) : te::prod(one, {k});
  });
  if (wide == type) {
    return e.define(total);
  }
  e.define([&](const Indices& at) { return te::cast(type, total.at(at)); });
}

void infer_hardmax(Inference& in) {
  (void)axis_of(in.node(), in.rank(0));
  in.set(in.dtype(0), in.shape(0));
}
/// 1 at the first of the largest elements, else 0.
void emit_hardmax(Emitter& e) {
  const Shape& x = e.shape(0);
  const std::size_t axis = axis_of(e.node(), x.size());
  Shape rows = x;
  rows[axis] = 1;
  const te::ReduceAxis k = e.axis("k", x[axis]), i = e.axis("i", x[axis]);
  const te::Tensor most = e.stage(
      "max", rows, [&](const Indices& at) { return te::max(e.read(0, with(at, axis, k)), {k}); });
  const te::Tensor first = e.stage("place", rows, [&](const Indices& at) {
    return te::min(
        te::select(e.read(0, with(at, axis, i)) == most.at(at), Expr(i), whole(e, x[axis])), {i});
  });
  const DType type = e.result_type();
  e.define([&](const Indices& at) {
    return te::cast(type,
                    te::select(first.at(with(at, axis, 0)) == at[axis], whole(e, 1), whole(e, 0)));
  });
}

}  // namespace

std::vector<OperatorRow> order_rows() {
  return {computed_row("TopK", Pattern::opaque, infer_top_k, emit_top_k),
          computed_row("CumSum", Pattern::reduction, infer_running, emit_running<true>),
          computed_row("CumProd", Pattern::reduction, infer_running, emit_running<false>),
          computed_row("Hardmax", Pattern::opaque, infer_hardmax, emit_hardmax)};
}

}  // namespace tensorsmith::graph
