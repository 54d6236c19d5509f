// SPDX-License-Identifier: Apache-2.0
// Results whose elements are single elements of the inputs: moved, joined, cut out, looked up.
#include <algorithm>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

std::vector<std::size_t> permutation_of(const Node& node, std::size_t rank) {
  List list = node.integers("perm");
  if (list.empty()) {
    for (std::size_t d = rank; d-- > 0;) {
      list.push_back(static_cast<std::int64_t>(d));
    }
  }
  const std::vector<std::size_t> sorted = normalized_axes(list, rank);
  if (sorted.size() != rank) {
    refuse("has a permutation " + shape_text(list) + " of " + std::to_string(rank) + " axes");
  }
  return std::vector<std::size_t>(list.begin(), list.end());
}
void infer_transpose(Inference& in) {
  Shape shape;
  for (const std::size_t d : permutation_of(in.node(), in.rank(0))) {
    shape.push_back(in.shape(0)[d]);
  }
  in.set(in.dtype(0), shape);
}
void emit_transpose(Emitter& e) {
  const auto permutation = permutation_of(e.node(), e.shape(0).size());
  e.define([&](const Indices& at) {
    Indices index(at.size(), Expr(0));
    for (std::size_t d = 0; d < at.size(); ++d) {
      index[permutation[d]] = at[d];
    }
    return e.read(0, index);
  });
}

void infer_concat(Inference& in) {
  const std::size_t axis = normalized_axis(in.node().integer("axis", 0), in.rank(0));
  Shape shape = in.shape(0);
  for (std::size_t i = 1; i < in.num_inputs(); ++i) {
    Shape other = in.shape(i);
    if (other.size() != shape.size() || in.dtype(i) != in.dtype(0)) {
      refuse("joins " + shape_text(shape) + " and " + shape_text(other));
    }
    const std::int64_t extent = other[axis];
    other[axis] = shape[axis];
    if (other != shape) {
      refuse("joins " + shape_text(in.shape(0)) + " and " + shape_text(in.shape(i)));
    }
    shape[axis] += extent;
  }
  in.set(in.dtype(0), shape);
}
void emit_concat(Emitter& e) {
  const std::size_t axis = normalized_axis(e.node().integer("axis", 0), e.shape(0).size());
  std::vector<std::size_t> parts;
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < e.node().inputs.size(); ++i) {
    if (num_elements(e.shape(i)) > 0) {
      parts.push_back(i);
      starts.push_back(start);
      start += e.shape(i)[axis];
    }
  }
  e.define([&](const Indices& at) {
    const auto part = [&](std::size_t p) {
      Indices index = at;
      index[axis] = at[axis] - starts[p];
      return e.read(parts[p], index);
    };
    Expr value = part(parts.size() - 1);
    for (std::size_t p = parts.size() - 1; p-- > 0;) {
      value = te::if_then_else(at[axis] < starts[p + 1], part(p), value);
    }
    return value;
  });
}

/// First element, step and number along every axis.
struct Cut {
  List start, step, count;
};
Cut cut_of(const Graph& graph, const Node& node, const Shape& x) {
  Cut cut{List(x.size(), 0), List(x.size(), 1), x};
  const List starts = list_of(graph, node, 1, "starts"), ends = list_of(graph, node, 2, "ends");
  List axes = list_of(graph, node, 3, "axes"), steps = list_of(graph, node, 4, "steps");
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  steps.resize(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size()) {
    refuse("has starts, ends and axes of different lengths");
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t d = normalized_axis(axes[i], x.size());
    const std::int64_t extent = x[d], step = steps[i];
    if (step == 0) {
      refuse("has a step of 0");
    }
    const auto clamp = [&](std::int64_t place, std::int64_t low, std::int64_t high) {
      place += place < 0 ? extent : 0;
      return std::clamp(place, low, high);
    };
    const std::int64_t start =
        step > 0 ? clamp(starts[i], 0, extent) : clamp(starts[i], 0, extent - 1);
    const bool is_below = step < 0 && ends[i] < -extent;
    const std::int64_t end = step > 0   ? clamp(std::max(ends[i], -2 * extent - 2), 0, extent)
                             : is_below ? -1
                                        : clamp(ends[i], -1, extent - 1);
    const std::int64_t span = step > 0 ? end - start : start - end;
    const std::int64_t size = step > 0 ? step : -std::max(step, -(std::int64_t{1} << 40));
    cut.start[d] = start;
    cut.step[d] = step;
    cut.count[d] = span <= 0 ? 0 : (span + size - 1) / size;
    if (cut.count[d] <= 1) {
      cut.step[d] = 1;
    }
  }
  return cut;
}
void infer_slice(Inference& in) {
  in.set(in.dtype(0), cut_of(in.graph(), in.node(), in.shape(0)).count);
}
void emit_slice(Emitter& e) {
  const Cut cut = cut_of(e.graph(), e.node(), e.shape(0));
  e.define([&](const Indices& at) {
    Indices index;
    for (std::size_t d = 0; d < at.size(); ++d) {
      index.push_back(at[d] * cut.step[d] + cut.start[d]);
    }
    return e.read(0, index);
  });
}

List parts_of(const Graph& graph, const Node& node, std::int64_t extent) {
  List parts = list_of(graph, node, 1, "split");
  if (parts.empty()) {
    const std::int64_t n =
        node.integer("num_outputs", static_cast<std::int64_t>(node.outputs.size()));
    const std::int64_t each = n < 1 ? 0 : (extent + n - 1) / n;
    for (std::int64_t i = 0, rest = extent; i < n; ++i) {
      parts.push_back(std::min(each, rest));
      rest -= parts.back();
    }
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : parts) {
    sum += part;
    if (part < 0 || sum > extent) {
      break;
    }
  }
  if (sum != extent || parts.size() < node.outputs.size()) {
    refuse("cuts an axis of " + std::to_string(extent) + " into " + shape_text(parts));
  }
  return parts;
}
void infer_split(Inference& in) {
  const std::size_t axis = normalized_axis(in.node().integer("axis", 0), in.rank(0));
  Shape shape = in.shape(0);
  for (const std::int64_t part : parts_of(in.graph(), in.node(), in.shape(0)[axis])) {
    shape[axis] = part;
    in.set(in.dtype(0), shape);
  }
}
void emit_split(Emitter& e) {
  const std::size_t axis = normalized_axis(e.node().integer("axis", 0), e.shape(0).size());
  const List parts = parts_of(e.graph(), e.node(), e.shape(0)[axis]);
  std::int64_t start = 0;
  for (std::size_t k = 0; k < e.node().outputs.size(); ++k) {
    if (e.node().has_output(k)) {
      e.define(
          [&](const Indices& at) {
            Indices index = at;
            index[axis] = at[axis] + start;
            return e.read(0, index);
          },
          k);
    }
    start += parts[k];
  }
}

struct Frame {
  List before, after;
};
Frame frame_of(const Graph& graph, const Node& node, std::size_t rank) {
  const List pads = list_of(graph, node, 1, "pads");
  List axes = list_of(graph, node, 3, "axes");
  if (axes.empty()) {
    for (std::size_t d = 0; d < rank; ++d) {
      axes.push_back(static_cast<std::int64_t>(d));
    }
  }
  if (pads.size() != 2 * axes.size()) {
    refuse("has " + std::to_string(pads.size()) + " pads for " + std::to_string(axes.size()) +
           " axes");
  }
  Frame frame{List(rank, 0), List(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t d = normalized_axis(axes[i], rank);
    frame.before[d] = pads[i];
    frame.after[d] = pads[axes.size() + i];
  }
  return frame;
}
void infer_pad(Inference& in) {
  const Frame frame = frame_of(in.graph(), in.node(), in.rank(0));
  const std::string mode = in.node().text("mode", "constant");
  Shape shape = in.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t most = mode == "reflect" ? shape[d] - 1 : mode == "wrap" ? shape[d] : -1;
    if (most >= 0 && std::max(frame.before[d], frame.after[d]) > most) {
      refuse("pads axis " + std::to_string(d) + " of " + shape_text(in.shape(0)) +
             " by more than it has (" + mode + ")");
    }
    shape[d] += frame.before[d] + frame.after[d];
    if (shape[d] < 0 || shape[d] > INT32_MAX) {
      refuse("pads to an extent of " + std::to_string(shape[d]));
    }
  }
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    refuse("has an unknown mode \"" + mode + "\"");
  }
  in.set(in.dtype(0), shape);
}
void emit_pad(Emitter& e) {
  const Shape& x = e.shape(0);
  const Frame frame = frame_of(e.graph(), e.node(), x.size());
  const std::string mode = e.node().text("mode", "constant");
  e.define([&](const Indices& at) {
    Indices index = at;
    std::vector<Expr> inside;
    for (std::size_t d = 0; d < x.size(); ++d) {
      const std::int64_t before = frame.before[d], after = frame.after[d], extent = x[d];
      const Expr i = at[d] - before;
      index[d] = i;
      if (mode == "constant") {
        if (before > 0) {
          inside.push_back(at[d] >= before);
        }
        if (after > 0) {
          inside.push_back(at[d] < before + extent);
        }
      } else if (before > 0 || after > 0) {
        index[d] = mode == "edge"   ? te::max(te::min(i, extent - 1), 0)
                   : mode == "wrap" ? te::floormod(i, extent)
                                    : te::min(te::max(i, -i), -te::max(i, -i) + 2 * (extent - 1));
      }
    }
    const Expr value = e.read(0, index);
    if (inside.empty()) {
      return value;
    }
    Expr condition = inside[0];
    for (std::size_t i = 1; i < inside.size(); ++i) {
      condition = condition && inside[i];
    }
    return te::if_then_else(condition, value, e.has(2) ? e.read_spread(2, {}) : Expr(0));
  });
}

void infer_gather(Inference& in) {
  const std::size_t axis = normalized_axis(in.node().integer("axis", 0), in.rank(0));
  Shape shape = in.shape(0);
  const auto place = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto next = shape.erase(place);
  shape.insert(next, in.shape(1).begin(), in.shape(1).end());
  in.set(in.dtype(0), shape);
}
void emit_gather(Emitter& e) {
  const Shape& x = e.shape(0);
  const std::size_t axis = normalized_axis(e.node().integer("axis", 0), x.size());
  const std::size_t rank = e.shape(1).size();
  const auto offset = static_cast<std::ptrdiff_t>(axis);
  const auto width = static_cast<std::ptrdiff_t>(rank);
  e.define([&](const Indices& at) {
    const Indices of_index(at.begin() + offset, at.begin() + offset + width);
    Indices index(at.begin(), at.begin() + offset);
    index.push_back(from_the_end(e, e.read(1, of_index), x[axis]));
    index.insert(index.end(), at.begin() + offset + width, at.end());
    return e.read(0, index);
  });
}
void infer_gather_elements(Inference& in) {
  (void)normalized_axis(in.node().integer("axis", 0), in.rank(0));
  if (in.rank(1) != in.rank(0)) {
    refuse("has indices " + shape_text(in.shape(1)) + " for " + shape_text(in.shape(0)));
  }
  in.set(in.dtype(0), in.shape(1));
}
void emit_gather_elements(Emitter& e) {
  const std::size_t axis = normalized_axis(e.node().integer("axis", 0), e.shape(0).size());
  e.define([&](const Indices& at) {
    Indices index = at;
    index[axis] = from_the_end(e, e.read(1, at), e.shape(0)[axis]);
    return e.read(0, index);
  });
}

void infer_expand(Inference& in) {
  in.set(in.dtype(0), spread_shapes(in.shape(0), in.constant(1, "shape").integers()));
}
void emit_expand(Emitter& e) {
  e.define([&](const Indices& at) { return e.read_spread(0, at); });
}
void infer_tile(Inference& in) {
  const List repeats = in.constant(1, "repeats").integers();
  Shape shape = in.shape(0);
  if (repeats.size() != shape.size()) {
    refuse("has repeats " + shape_text(repeats) + " for " + shape_text(shape));
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shape[d] *= repeats[d];
  }
  in.set(in.dtype(0), shape);
}
void emit_tile(Emitter& e) {
  e.define([&](const Indices& at) {
    Indices index;
    for (std::size_t d = 0; d < at.size(); ++d) {
      index.push_back(e.shape(0)[d] == 1 ? Expr(0) : te::floormod(at[d], e.shape(0)[d]));
    }
    return e.read(0, index);
  });
}

void infer_depth_to_space(Inference& in) {
  const std::int64_t b = in.node().integer("blocksize", 1);
  const Shape& x = in.shape(0);
  if (x.size() != 4 || b < 1 || x[1] % (b * b) != 0) {
    refuse("has blocks of " + std::to_string(b) + " for " + shape_text(x));
  }
  in.set(in.dtype(0), {x[0], x[1] / (b * b), x[2] * b, x[3] * b});
}
void emit_depth_to_space(Emitter& e) {
  const std::int64_t b = e.node().integer("blocksize", 1);
  const bool is_crd = e.node().text("mode", "DCR") == "CRD";
  const std::int64_t depth = e.result().shape[1];
  e.define([&](const Indices& at) {
    const Expr block = te::floormod(at[2], b) * b + te::floormod(at[3], b);
    const Expr c = is_crd ? at[1] * (b * b) + block : block * depth + at[1];
    return e.read(0, {at[0], c, te::floordiv(at[2], b), te::floordiv(at[3], b)});
  });
}
void infer_space_to_depth(Inference& in) {
  const std::int64_t b = in.node().integer("blocksize", 1);
  const Shape& x = in.shape(0);
  if (x.size() != 4 || b < 1 || x[2] % b != 0 || x[3] % b != 0) {
    refuse("has blocks of " + std::to_string(b) + " for " + shape_text(x));
  }
  in.set(in.dtype(0), {x[0], x[1] * b * b, x[2] / b, x[3] / b});
}
void emit_space_to_depth(Emitter& e) {
  const std::int64_t b = e.node().integer("blocksize", 1), depth = e.shape(0)[1];
  const bool is_crd = e.node().text("mode", "DCR") == "CRD";
  e.define([&](const Indices& at) {
    const Expr block = is_crd ? te::floormod(at[1], b * b) : te::floordiv(at[1], depth);
    const Expr c = is_crd ? te::floordiv(at[1], b * b) : te::floormod(at[1], depth);
    return e.read(
        0, {at[0], c, at[2] * b + te::floordiv(block, b), at[3] * b + te::floormod(block, b)});
  });
}

void infer_trilu(Inference& in) {
  if (in.rank(0) < 2) {
    refuse("has an input " + shape_text(in.shape(0)) + " that is no matrix");
  }
  if (in.has(1)) {
    (void)in.constant(1, "k");
  }
  in.set(in.dtype(0), in.shape(0));
}
void emit_trilu(Emitter& e) {
  const bool is_upper = e.node().integer("upper", 1) != 0;
  const std::int64_t k = e.has(1) ? e.value(1).constant.integer(0) : 0;
  e.define([&](const Indices& at) {
    const Expr distance = at.back() - at[at.size() - 2];
    const Expr x = e.read(0, at);
    return te::select(is_upper ? distance >= k : distance <= k, x,
                      x.dtype() == DType::boolean ? x != x : Expr(0));
  });
}

OperatorRow row(std::string_view op, void (*infer)(Inference&), void (*emit)(Emitter&)) {
  return computed_row(op, Pattern::injective, infer, emit);
}

}  // namespace

Expr from_the_end(Emitter& e, const Expr& i, std::int64_t extent) {
  const Expr index = te::cast(DType::i32, i);
  return te::select(index < 0, index + whole(e, extent), index);
}

std::vector<OperatorRow> index_rows() {
  return {row("Transpose", infer_transpose, emit_transpose),
          row("Concat", infer_concat, emit_concat),
          row("Slice", infer_slice, emit_slice),
          row("Split", infer_split, emit_split),
          row("Pad", infer_pad, emit_pad),
          row("Gather", infer_gather, emit_gather),
          row("GatherElements", infer_gather_elements, emit_gather_elements),
          row("Expand", infer_expand, emit_expand),
          row("Tile", infer_tile, emit_tile),
          row("DepthToSpace", infer_depth_to_space, emit_depth_to_space),
          row("SpaceToDepth", infer_space_to_depth, emit_space_to_depth),
          row("Trilu", infer_trilu, emit_trilu)};
}

}  // namespace tensorsmith::graph
