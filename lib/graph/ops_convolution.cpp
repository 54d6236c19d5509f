// SPDX-License-Identifier: Apache-2.0
// Convolutions of one, two or three spatial axes, channels first or last.
#include <algorithm>

#include "graph/windows.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

struct Convolution {
  Windows w;
  std::int64_t groups = 1, in = 1, out = 1;  ///< channels
  bool is_depthwise() const { return groups == in && out == in && groups > 1; }
};

Convolution convolution_of(const Node& node, const Shape& x, const Shape& weights) {
  Convolution c;
  c.w = activation_of(node, x);
  Windows& w = c.w;
  c.groups = node.integer("group", 1);
  c.in = w.c;
  if (weights.size() != w.rank + 2) {
    refuse("has weights " + shape_text(weights) + " for an input " + shape_text(x));
  }
  const std::size_t first = w.is_last ? 0 : 2;
  w.kernel.assign(weights.begin() + static_cast<std::ptrdiff_t>(first),
                  weights.begin() + static_cast<std::ptrdiff_t>(first + w.rank));
  c.out = w.is_last ? weights.back() : weights[0];
  const std::int64_t per_group = w.is_last ? weights[w.rank] : weights[1];
  if (c.groups < 1 || c.in % c.groups != 0 || c.out % c.groups != 0 ||
      per_group != c.in / c.groups) {
    refuse("has weights " + shape_text(weights) + " in " + std::to_string(c.groups) +
           " groups for " + std::to_string(c.in) + " channels");
  }
  place(w, node);
  return c;
}

void check_bias(const Inference& in, std::int64_t channels) {
  if (in.has(2) && in.shape(2) != Shape{channels}) {
    refuse("has a bias " + shape_text(in.shape(2)) + " for " + std::to_string(channels) +
           " channels");
  }
}

void infer_conv(Inference& in) {
  const Convolution c = convolution_of(in.node(), in.shape(0), in.shape(1));
  check_bias(in, c.out);
  in.set(in.dtype(0), c.w.activation(c.out, c.w.out));
}

OperationAttrs packing(Emitter& e) {
  OperationAttrs attrs;
  const std::string name = e.constant_name(1);
  if (!name.empty()) {
    attrs.layout_free_placeholders.push_back(name);
  }
  return attrs;
}

/// The sums with the bias, in the result's type.
void finish_sums(Emitter& e, const te::Tensor& sums, const Windows& w) {
  const DType type = e.result_type(), wide = sums.dtype();
  if (!e.has(2) && wide == type) {
    return e.define(sums);
  }
  e.define(
      [&](const Indices& at) {
        const Expr value = sums.at(at);
        return te::cast(type,
                        e.has(2) ? value + te::cast(wide, e.read(2, {at[w.channel()]})) : value);
      },
      0, {}, w.axes("co"));
}

void emit_conv(Emitter& e) {
  const Convolution c = convolution_of(e.node(), e.shape(0), e.shape(1));
  const Windows& w = c.w;
  const DType wide = ops::detail::accumulator_of(e.result_type());
  const te::Tensor x = padded(e, e.tensor(0), w, w.before, w.after, 0);
  const te::Tensor weights = e.tensor(1);
  const te::ReduceAxes taps = taps_of(e, w);
  te::ReduceAxes reduced = taps;
  const std::int64_t per_group = c.in / c.groups;
  const bool sums_channels = per_group > 1 || c.groups == 1;
  if (sums_channels) {
    const te::ReduceAxis rc = e.axis("rc", per_group);
    reduced.insert(w.is_last ? reduced.end() : reduced.begin(), rc);
  }
  const auto body = [&](const Indices& at) {
    const Expr co = at[w.channel()];
    const Expr rc = !sums_channels ? Expr(0) : w.is_last ? reduced.back() : reduced.front();
    Indices index = at, tap(taps.begin(), taps.end());
    for (std::size_t a = 0; a < w.rank; ++a) {
      index[w.first() + a] = at[w.first() + a] * w.strides[a] + taps[a] * w.dilations[a];
    }
    const std::int64_t outs = c.out / c.groups;
    const Expr group = outs == 1 ? co : te::floordiv(co, outs);
    index[w.channel()] = c.groups == 1 ? rc : sums_channels ? group * per_group + rc : group;
    Indices of_weights;
    if (w.is_last) {
      of_weights = tap;
      of_weights.insert(of_weights.end(), {rc, co});
    } else {
      of_weights = {co, rc};
      of_weights.insert(of_weights.end(), tap.begin(), tap.end());
    }
    return te::sum(te::cast(wide, x.at(index)) * te::cast(wide, weights.at(of_weights)), reduced);
  };
  finish_sums(e, e.stage("", w.activation(c.out, w.out), body, packing(e), w.axes("co")), w);
}

/// The convolution that the result would be the input of.
Convolution transposed_of(const Node& node, const Shape& x, const Shape& weights) {
  Convolution c;
  c.w = activation_of(node, x);
  Windows& w = c.w;
  c.groups = node.integer("group", 1);
  c.in = w.c;
  const std::size_t first = w.is_last ? 0 : 2;
  if (weights.size() != w.rank + 2) {
    refuse("has weights " + shape_text(weights) + " for an input " + shape_text(x));
  }
  w.kernel.assign(weights.begin() + static_cast<std::ptrdiff_t>(first),
                  weights.begin() + static_cast<std::ptrdiff_t>(first + w.rank));
  // Channels first: [in, out / groups, kernel]; last: [kernel, in / groups, out].
  const std::int64_t ins = w.is_last ? weights[w.rank] * c.groups : weights[0];
  c.out = w.is_last ? weights.back() : weights[1] * c.groups;
  if (c.groups < 1 || ins != c.in || c.in % c.groups != 0 || c.out % c.groups != 0) {
    refuse("has weights " + shape_text(weights) + " in " + std::to_string(c.groups) +
           " groups for " + std::to_string(c.in) + " channels");
  }
  const List more = per_axis(node, "output_padding", w.rank, 0, 0);
  const std::string mode = node.text("auto_pad", "NOTSET");
  List pads = node.integers("pads", List(2 * w.rank, 0));
  const List wanted = node.integers("output_shape");
  if (pads.size() != 2 * w.rank || (!wanted.empty() && wanted.size() != w.rank)) {
    refuse("has pads or output_shape for another number of spatial axes");
  }
  for (std::size_t a = 0; a < w.rank; ++a) {
    const std::int64_t full = (w.spatial[a] - 1) * w.strides[a] + w.reach(a) + more[a];
    if (!wanted.empty() || mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const std::int64_t out = wanted.empty() ? w.spatial[a] * w.strides[a] : wanted[a];
      const std::int64_t all = full - out;
      const std::int64_t half = all / 2;
      // The odd one at the end for SAME_UPPER, else at the beginning; what is missing, at the end.
      pads[a] = all < 0 ? 0 : mode == "SAME_UPPER" ? half : all - half;
      pads[w.rank + a] = all - pads[a];
    } else if (mode == "VALID") {
      pads[a] = pads[w.rank + a] = 0;
    }
    w.before.push_back(pads[a]);
    w.after.push_back(pads[w.rank + a]);
    w.out.push_back(full - pads[a] - pads[w.rank + a]);
    if (w.out.back() <= 0) {
      refuse("has an empty result along spatial axis " + std::to_string(a));
    }
  }
  return c;
}

void infer_transposed(Inference& in) {
  const Convolution c = transposed_of(in.node(), in.shape(0), in.shape(1));
  check_bias(in, c.out);
  in.set(in.dtype(0), c.w.activation(c.out, c.w.out));
}

/// Gathers: of the taps, those whose place in the stretched input holds an element.
void emit_transposed(Emitter& e) {
  const Convolution c = transposed_of(e.node(), e.shape(0), e.shape(1));
  const Windows& w = c.w;
  const DType wide = ops::detail::accumulator_of(e.result_type());
  // Tap 0 of output 0, mirrored, lies `gap` before element 0 of the stretched input.
  List before, after, offset;
  for (std::size_t a = 0; a < w.rank; ++a) {
    const std::int64_t gap = w.reach(a) - 1 - w.before[a];
    before.push_back(gap > 0 ? (gap + w.strides[a] - 1) / w.strides[a] : 0);
    offset.push_back(before[a] * w.strides[a] - gap);
    const std::int64_t last = (w.out[a] - 1 + w.reach(a) - 1 + offset[a]) / w.strides[a];
    after.push_back(std::max<std::int64_t>(0, last - (before[a] + w.spatial[a] - 1)));
  }
  const te::Tensor x = padded(e, e.tensor(0), w, before, after, 0);
  const te::Tensor weights = e.tensor(1);
  const te::ReduceAxes taps = taps_of(e, w);
  const std::int64_t per_group = c.in / c.groups, outs = c.out / c.groups;
  const te::ReduceAxis rc = e.axis("rc", per_group);
  te::ReduceAxes reduced = taps;
  reduced.insert(w.is_last ? reduced.end() : reduced.begin(), rc);
  OperationAttrs attrs = packing(e);
  for (const std::string& name : w.axes("co")) {
    if (name != "n" && name != "co") {
      attrs.always_unroll_inner.push_back(name);
    }
  }
  for (const te::ReduceAxis& tap : taps) {
    attrs.always_unroll_inner.push_back(tap.program()->pool.var_name(tap.var()));
  }
  const auto body = [&](const Indices& at) {
    const Expr co = at[w.channel()];
    const Expr ci = c.groups == 1 ? Expr(rc) : te::floordiv(co, outs) * per_group + rc;
    Indices index = at, mirrored;
    std::vector<Expr> hits;
    for (std::size_t a = 0; a < w.rank; ++a) {
      const Expr position = at[w.first() + a] + taps[a] * w.dilations[a] + offset[a];
      if (w.strides[a] > 1) {
        hits.push_back(te::floormod(position, w.strides[a]) == 0);
      }
      index[w.first() + a] = te::floordiv(position, w.strides[a]);
      mirrored.push_back(Expr(w.kernel[a] - 1).typed(co.program(), DType::i32, "tap") - taps[a]);
    }
    index[w.channel()] = ci;
    Indices of_weights;
    if (w.is_last) {
      of_weights = mirrored;
      of_weights.insert(of_weights.end(), {rc, co});
    } else {
      of_weights = {ci, c.groups == 1 ? co : te::floormod(co, outs)};
      of_weights.insert(of_weights.end(), mirrored.begin(), mirrored.end());
    }
    const Expr term = te::cast(wide, x.at(index)) * te::cast(wide, weights.at(of_weights));
    if (hits.empty()) {
      return te::sum(term, reduced);
    }
    Expr hit = hits[0];
    for (std::size_t i = 1; i < hits.size(); ++i) {
      hit = hit && hits[i];
    }
    return te::sum(te::if_then_else(hit, term, 0), reduced);
  };
  finish_sums(e, e.stage("", w.activation(c.out, w.out), body, attrs, w.axes("co")), w);
}

}  // namespace

std::vector<OperatorRow> convolution_rows() {
  return {window_row("Conv", infer_conv, emit_conv),
          window_row("ConvTranspose", infer_transposed, emit_transposed)};
}

}  // namespace tensorsmith::graph
