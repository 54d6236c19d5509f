// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, softmax, and the places of extremes.
#include <algorithm>
#include <limits>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

/// Which axes go, and what stays.
struct Reduced {
  std::vector<std::size_t> axes;  ///< ascending
  bool keeps = true;
  Shape result;
  std::int64_t count = 1;
};

Reduced reduced_of(const Graph& graph, const Node& node, const Shape& x) {
  Reduced r;
  const List axes = list_of(graph, node, 1, "axes");
  r.keeps = node.integer("keepdims", 1) != 0;
  if (!axes.empty()) {
    r.axes = normalized_axes(axes, x.size());
  } else if (node.integer("noop_with_empty_axes", 0) == 0) {
    for (std::size_t d = 0; d < x.size(); ++d) {
      r.axes.push_back(d);
    }
  }
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool is_reduced = std::find(r.axes.begin(), r.axes.end(), d) != r.axes.end();
    if (!is_reduced) {
      r.result.push_back(x[d]);
    } else {
      r.count *= x[d];
      if (r.keeps) {
        r.result.push_back(1);
      }
    }
  }
  return r;
}

void infer_reduce(Inference& in) {
  in.set(in.dtype(0), reduced_of(in.graph(), in.node(), in.shape(0)).result);
}

/// Index into the input from one of the result and the reduction axes.
class ReducedIndex {
 public:
  ReducedIndex(Emitter& e, const Reduced& r, const Shape& x) : reduced_(r), rank_(x.size()) {
    for (const std::size_t d : r.axes) {
      axes.push_back(e.axis("k" + std::to_string(axes.size()), x[d]));
    }
  }
  Indices operator()(const Indices& at) const {
    Indices index;
    std::size_t next = 0, k = 0;
    for (std::size_t d = 0; d < rank_; ++d) {
      const bool is_reduced = k < reduced_.axes.size() && reduced_.axes[k] == d;
      index.push_back(is_reduced ? static_cast<const Expr&>(axes[k++]) : at[next]);
      next += !is_reduced || reduced_.keeps ? 1 : 0;
    }
    return index;
  }
  te::ReduceAxes axes;

 private:
  Reduced reduced_;
  std::size_t rank_;
};

enum class Statistic { sum, mean, product, maximum, minimum, squares, l1, l2, log_sum };

/// The result over no element at all.
Expr of_nothing(Emitter& e, Statistic statistic, DType type) {
  const bool is_extreme = statistic == Statistic::maximum || statistic == Statistic::minimum;
  if (type == DType::boolean) {
    return whole(e, statistic == Statistic::minimum ? 1 : 0) != 0;
  }
  if (is_extreme) {
    return te::detail::extreme(type, statistic == Statistic::maximum ? -1 : 1)
        .typed(whole(e, 0).program(), type, "Reduce");
  }
  if (!is_float(type)) {
    return number(e, type, statistic == Statistic::product ? 1 : 0);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double value = statistic == Statistic::product   ? 1
                       : statistic == Statistic::mean    ? std::numeric_limits<double>::quiet_NaN()
                       : statistic == Statistic::log_sum ? -infinity
                                                         : 0;
  return e.program().constant(type, value);
}

/// A chain of stages: before(x), reduced, after.
template <Statistic statistic>
void emit_reduce(Emitter& e) {
  const Reduced r = reduced_of(e.graph(), e.node(), e.shape(0));
  const DType type = e.result_type();
  if (r.axes.empty()) {
    return e.define([&](const Indices& at) { return e.read(0, at); });
  }
  constexpr bool is_extreme = statistic == Statistic::maximum || statistic == Statistic::minimum;
  const DType number = type == DType::boolean ? DType::i32 : type;  // true is the larger one
  const DType wide = is_extreme ? number : ops::detail::accumulator_of(number);
  if (r.count == 0) {
    return e.define([&](const Indices&) { return of_nothing(e, statistic, type); });
  }
  const ReducedIndex index(e, r, e.shape(0));
  const te::Tensor x = e.tensor(0);
  const auto body = [&](const Indices& at) -> Expr {
    const Expr element = x.at(index(at));
    const Expr v = type == DType::boolean ? te::select(element, whole(e, 1), whole(e, 0))
                                          : te::cast(wide, element);
    switch (statistic) {
    case Statistic::product:
      return te::prod(v, index.axes);
    case Statistic::maximum:
      return te::maximum(v, index.axes);
    case Statistic::minimum:
      return te::minimum(v, index.axes);
    case Statistic::squares:
    case Statistic::l2:
      return te::sum(v * v, index.axes);
    case Statistic::l1:
      return te::sum(te::abs(v), index.axes);
    default:
      return te::sum(v, index.axes);
    }
  };
  const auto after = [&](const Expr& v) -> Expr {
    switch (statistic) {
    case Statistic::mean:
      return is_float(wide) ? v * (1.0 / static_cast<double>(r.count)) : v / r.count;
    case Statistic::l2:
      return te::sqrt(v);
    case Statistic::log_sum:
      return te::log(v);
    default:
      return v;
    }
  };
  constexpr bool has_after =
      statistic == Statistic::mean || statistic == Statistic::l2 || statistic == Statistic::log_sum;
  const te::Tensor total = e.stage("", r.result, body);
  if (!has_after && wide == type) {
    return e.define(total);
  }
  e.define([&](const Indices& at) {
    const Expr v = after(total.at(at));
    return type == DType::boolean ? v != 0 : te::cast(type, v);
  });
}

/// max + log(sum(exp(x - max))).
void emit_log_sum_exp(Emitter& e) {
  const Reduced r = reduced_of(e.graph(), e.node(), e.shape(0));
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  if (r.count == 0) {
    return e.define([&](const Indices&) { return of_nothing(e, Statistic::log_sum, type); });
  }
  const ReducedIndex most_index(e, r, e.shape(0)), sum_index(e, r, e.shape(0));
  const te::Tensor x = e.tensor(0);
  const te::Tensor most = e.stage("max", r.result, [&](const Indices& at) {
    return te::maximum(te::cast(wide, x.at(most_index(at))), most_index.axes);
  });
  const te::Tensor sum = e.stage("sum", r.result, [&](const Indices& at) {
    return te::sum(te::exp(te::cast(wide, x.at(sum_index(at))) - most.at(at)), sum_index.axes);
  });
  e.define([&](const Indices& at) { return te::cast(type, most.at(at) + te::log(sum.at(at))); });
}

void infer_arg(Inference& in) {
  const std::size_t axis = normalized_axis(in.node().integer("axis", 0), in.rank(0));
  Shape shape = in.shape(0);
  if (in.node().integer("keepdims", 1) != 0) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  in.set(DType::i64, shape);
}

/// Pairs of place and element; of equals the first, or with select_last_index the last.
template <bool is_max>
void emit_arg(Emitter& e) {
  const std::size_t axis = normalized_axis(e.node().integer("axis", 0), e.shape(0).size());
  Reduced r;
  r.axes = {axis};
  r.keeps = e.node().integer("keepdims", 1) != 0;
  const bool takes_last = e.node().integer("select_last_index", 0) != 0;
  const ReducedIndex index(e, r, e.shape(0));
  const te::Tensor x = e.tensor(0);
  const Expr none(takes_last ? std::int64_t{-1} : std::int64_t{INT32_MAX});
  const CombinerId best = e.program().combiner(
      {DType::i32, x.dtype()}, {none, te::detail::extreme(x.dtype(), is_max ? -1 : 1)},
      [&](const std::vector<Expr>& a, const std::vector<Expr>& b) {
        const Expr is_better = is_max ? a[1] > b[1] : a[1] < b[1];
        const Expr is_kept = takes_last ? a[0] > b[0] : a[0] < b[0];
        const Expr keeps = is_better || (a[1] == b[1] && is_kept);
        return std::vector<Expr>{te::select(keeps, a[0], b[0]), te::select(keeps, a[1], b[1])};
      });
  const std::vector<te::Tensor> found = e.program().compute_all(
      "best" + std::to_string(e.node().outputs[0].value), e.result().shape, [&](const Indices& at) {
        return te::reduce(best, {index.axes[0], x.at(index(at))}, index.axes);
      });
  e.define([&](const Indices& at) { return te::cast(DType::i64, found[0].at(at)); });
}

void infer_softmax(Inference& in) {
  (void)normalized_axis(in.node().integer("axis", -1), in.rank(0));
  in.set(in.dtype(0), in.shape(0));
}

template <bool is_log>
void emit_softmax(Emitter& e) {
  const Shape& shape = e.shape(0);
  const std::size_t axis = normalized_axis(e.node().integer("axis", -1), shape.size());
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  Reduced r;
  r.axes = {axis};
  r.keeps = false;
  Shape rows = shape;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  const auto row_of = [&](const Indices& at) {
    Indices row = at;
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(axis));
    return row;
  };
  const ReducedIndex of_max(e, r, shape), of_sum(e, r, shape);
  const te::Tensor x = e.tensor(0);
  const te::Tensor most = e.stage("max", rows, [&](const Indices& at) {
    return te::max(te::cast(wide, x.at(of_max(at))), of_max.axes);
  });
  if constexpr (is_log) {
    const te::Tensor sum = e.stage("sum", rows, [&](const Indices& at) {
      return te::sum(te::exp(te::cast(wide, x.at(of_sum(at))) - most.at(at)), of_sum.axes);
    });
    e.define([&](const Indices& at) {
      const Indices row = row_of(at);
      return te::cast(type, te::cast(wide, x.at(at)) - most.at(row) - te::log(sum.at(row)));
    });
  } else {
    const te::Tensor power = e.stage("exp", shape, [&](const Indices& at) {
      return te::exp(te::cast(wide, x.at(at)) - most.at(row_of(at)));
    });
    const te::Tensor sum = e.stage(
        "sum", rows, [&](const Indices& at) { return te::sum(power.at(of_sum(at)), of_sum.axes); });
    e.define([&](const Indices& at) { return te::cast(type, power.at(at) / sum.at(row_of(at))); });
  }
}

template <Statistic statistic>
OperatorRow reduce_row(std::string_view op) {
  return computed_row(op, Pattern::reduction, infer_reduce, emit_reduce<statistic>);
}

}  // namespace

std::vector<OperatorRow> reduction_rows() {
  return {reduce_row<Statistic::sum>("ReduceSum"),
          reduce_row<Statistic::mean>("ReduceMean"),
          reduce_row<Statistic::product>("ReduceProd"),
          reduce_row<Statistic::maximum>("ReduceMax"),
          reduce_row<Statistic::minimum>("ReduceMin"),
          reduce_row<Statistic::squares>("ReduceSumSquare"),
          reduce_row<Statistic::l1>("ReduceL1"),
          reduce_row<Statistic::l2>("ReduceL2"),
          reduce_row<Statistic::log_sum>("ReduceLogSum"),
          computed_row("ReduceLogSumExp", Pattern::reduction, infer_reduce, emit_log_sum_exp),
          computed_row("ArgMax", Pattern::reduction, infer_arg, emit_arg<true>),
          computed_row("ArgMin", Pattern::reduction, infer_arg, emit_arg<false>),
          computed_row("Softmax", Pattern::reduction, infer_softmax, emit_softmax<false>),
          computed_row("LogSoftmax", Pattern::reduction, infer_softmax, emit_softmax<true>)};
}

}  // namespace tensorsmith::graph
