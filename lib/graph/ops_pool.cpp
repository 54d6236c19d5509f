// SPDX-License-Identifier: Apache-2.0
// Pools of one, two or three spatial axes, channels first or last.
#include <algorithm>

#include "graph/windows.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

Windows pool_of(const Node& node, const Shape& x) {
  Windows w = activation_of(node, x);
  w.kernel = per_axis(node, "kernel_shape", w.rank, 1, 1);
  if (!node.has("kernel_shape")) {
    refuse("has no kernel_shape");
  }
  place(w, node);
  return w;
}

void infer_pool(Inference& in) {
  if (in.node().has_output(1)) {
    refuse("has a second result, the places of the maxima, which is not supported");
  }
  const Windows w = pool_of(in.node(), in.shape(0));
  in.set(in.dtype(0), w.activation(w.c, w.out));
}

/// Padding as far as windows reach, which with ceil_mode may be beyond the padding.
List reached(const Windows& w) {
  List after;
  for (std::size_t a = 0; a < w.rank; ++a) {
    const std::int64_t end = (w.out[a] - 1) * w.strides[a] + w.reach(a);
    after.push_back(std::max<std::int64_t>(0, end - w.before[a] - w.spatial[a]));
  }
  return after;
}

Indices window_index(const Windows& w, const Indices& at, const te::ReduceAxes& taps) {
  Indices index = at;
  for (std::size_t a = 0; a < w.rank; ++a) {
    index[w.first() + a] = at[w.first() + a] * w.strides[a] + taps[a] * w.dilations[a];
  }
  return index;
}

void emit_max_pool(Emitter& e) {
  const Windows w = pool_of(e.node(), e.shape(0));
  const te::Tensor x =
      padded(e, e.tensor(0), w, w.before, reached(w), te::detail::extreme(e.result_type(), -1));
  const te::ReduceAxes taps = taps_of(e, w);
  e.define([&](const Indices& at) { return te::maximum(x.at(window_index(w, at, taps)), taps); }, 0,
           {}, w.axes("c"));
}

void emit_average_pool(Emitter& e) {
  const Windows w = pool_of(e.node(), e.shape(0));
  const bool counts_padding = e.node().integer("count_include_pad", 0) != 0;
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  const List after = reached(w);
  const te::Tensor x = padded(e, e.tensor(0), w, w.before, after, 0);
  const te::ReduceAxes taps = taps_of(e, w);
  const te::Tensor sums = e.stage(
      "sum", w.activation(w.c, w.out),
      [&](const Indices& at) {
        return te::sum(te::cast(wide, x.at(window_index(w, at, taps))), taps);
      },
      {}, w.axes("c"));
  bool is_even = true;
  double count = 1;
  for (std::size_t a = 0; a < w.rank; ++a) {
    is_even =
        is_even && (counts_padding ? after[a] <= w.after[a] : w.before[a] == 0 && after[a] == 0);
    count *= static_cast<double>(w.kernel[a]);
  }
  // Taps along an axis, of those that count: from `low` on and before `high`.
  const auto taps_that_count = [&](std::size_t a, const Expr& i) {
    const std::int64_t d = w.dilations[a];
    const std::int64_t high = w.spatial[a] + (counts_padding ? w.after[a] : 0);
    const std::int64_t low = counts_padding ? -w.before[a] : 0;
    const Expr begin = i * w.strides[a] - w.before[a];
    const Expr first = te::max(te::floordiv(te::max(low - begin, 0) + (d - 1), d), 0);
    const Expr last = te::min(te::floordiv(high - begin + (d - 1), d), w.kernel[a]);
    return last - first;
  };
  e.define(
      [&](const Indices& at) {
        if (is_even) {
          return te::cast(type, sums.at(at) * (1.0 / count));
        }
        Expr number = taps_that_count(0, at[w.first()]);
        for (std::size_t a = 1; a < w.rank; ++a) {
          number = number * taps_that_count(a, at[w.first() + a]);
        }
        return te::cast(type, sums.at(at) / te::cast(wide, number));
      },
      0, {}, w.axes("c"));
}

Windows plane_of(const Node& node, const Shape& x) {
  Windows w = activation_of(node, x);
  w.kernel = w.spatial;
  w.out = List(w.rank, 1);
  return w;
}
void infer_global(Inference& in) {
  const Windows w = plane_of(in.node(), in.shape(0));
  in.set(in.dtype(0), w.activation(w.c, w.out));
}
Indices plane_index(const Windows& w, const Indices& at, const te::ReduceAxes& taps) {
  Indices index = at;
  for (std::size_t a = 0; a < w.rank; ++a) {
    index[w.first() + a] = taps[a];
  }
  return index;
}
void emit_global_max(Emitter& e) {
  const Windows w = plane_of(e.node(), e.shape(0));
  const te::Tensor x = e.tensor(0);
  const te::ReduceAxes taps = taps_of(e, w);
  e.define([&](const Indices& at) { return te::maximum(x.at(plane_index(w, at, taps)), taps); }, 0,
           {}, w.axes("c"));
}
void emit_global_average(Emitter& e) {
  const Windows w = plane_of(e.node(), e.shape(0));
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  const te::Tensor x = e.tensor(0);
  const te::ReduceAxes taps = taps_of(e, w);
  const te::Tensor sums = e.stage(
      "sum", w.activation(w.c, w.out),
      [&](const Indices& at) {
        return te::sum(te::cast(wide, x.at(plane_index(w, at, taps))), taps);
      },
      {}, w.axes("c"));
  const double scale = 1.0 / static_cast<double>(num_elements(w.spatial));
  e.define([&](const Indices& at) { return te::cast(type, sums.at(at) * scale); }, 0, {},
           w.axes("c"));
}

}  // namespace

std::vector<OperatorRow> pool_rows() {
  return {window_row("MaxPool", infer_pool, emit_max_pool),
          window_row("AveragePool", infer_pool, emit_average_pool),
          window_row("GlobalMaxPool", infer_global, emit_global_max),
          window_row("GlobalAveragePool", infer_global, emit_global_average)};
}

}  // namespace tensorsmith::graph
