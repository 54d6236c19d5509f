// SPDX-License-Identifier: Apache-2.0
// Views, whose results have the bytes of their input, and what is only ever computed of constants.
#include <algorithm>
#include <cmath>

#include "graph/operators.hpp"
#include "tensorsmith/ir/dtype_name.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

std::int64_t elements_of(const Shape& shape) {
  const std::int64_t n = num_elements(shape);
  if (n < 0) {
    refuse("has a shape that no memory holds, " + shape_text(shape));
  }
  return n;
}

void infer_reshape(Inference& in) {
  const List wanted = in.constant(1, "shape").integers();
  const Shape& x = in.shape(0);
  const bool allows_zero = in.node().integer("allowzero", 0) != 0;
  Shape shape;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    std::int64_t extent = wanted[d];
    if (extent == 0 && !allows_zero) {
      if (d >= x.size()) {
        refuse("copies axis " + std::to_string(d) + " of " + shape_text(x));
      }
      extent = x[d];
    }
    if (extent == -1 && open < 0) {
      open = static_cast<std::ptrdiff_t>(d);
    } else if (extent < 0) {
      refuse("has a shape " + shape_text(wanted));
    } else if (__builtin_mul_overflow(known, extent, &known)) {
      refuse("has a shape that no memory holds, " + shape_text(wanted));
    }
    shape.push_back(extent);
  }
  const std::int64_t count = elements_of(x);
  if (open >= 0) {
    shape[static_cast<std::size_t>(open)] = known == 0 ? 0 : count / known;
    known *= shape[static_cast<std::size_t>(open)];
  }
  if (known != count) {
    refuse("makes " + shape_text(wanted) + " of " + shape_text(x));
  }
  in.set(in.dtype(0), shape);
}

void infer_flatten(Inference& in) {
  const Shape& x = in.shape(0);
  std::int64_t axis = in.node().integer("axis", 1);
  axis += axis < 0 ? static_cast<std::int64_t>(x.size()) : 0;
  if (axis < 0 || axis > static_cast<std::int64_t>(x.size())) {
    refuse("flattens at axis " + std::to_string(axis) + " of " + shape_text(x));
  }
  const Shape first(x.begin(), x.begin() + axis), second(x.begin() + axis, x.end());
  in.set(in.dtype(0), {elements_of(first), elements_of(second)});
}

void infer_squeeze(Inference& in) {
  const Shape& x = in.shape(0);
  std::vector<std::size_t> axes;
  if (in.has(1) || in.node().has("axes")) {
    axes = normalized_axes(list_of(in.graph(), in.node(), 1, "axes"), x.size());
  } else {
    for (std::size_t d = 0; d < x.size(); ++d) {
      if (x[d] == 1) {
        axes.push_back(d);
      }
    }
  }
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool goes = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (goes && x[d] != 1) {
      refuse("takes out axis " + std::to_string(d) + " of " + shape_text(x));
    }
    if (!goes) {
      shape.push_back(x[d]);
    }
  }
  in.set(in.dtype(0), shape);
}

void infer_unsqueeze(Inference& in) {
  const List list = list_of(in.graph(), in.node(), 1, "axes");
  const Shape& x = in.shape(0);
  const std::size_t rank = x.size() + list.size();
  const std::vector<std::size_t> axes = normalized_axes(list, rank);
  Shape shape;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    shape.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? 1 : x[next++]);
  }
  in.set(in.dtype(0), shape);
}

void infer_identity(Inference& in) { in.set(in.dtype(0), in.shape(0)); }
void infer_dropout(Inference& in) {
  if (in.is_constant(2) && in.value(2).constant.integer(0) != 0) {
    refuse("is in training mode, which is not supported");
  }
  in.set(in.dtype(0), in.shape(0));
  in.set(DType::boolean, in.shape(0));
}

/// Where the element of the input stands that has the same place in row-major order. Extents of 1
/// are left out, and runs of axes that are alike are copied as they are, so that a squeeze costs no
/// division.
Indices same_place(const Indices& at, const Shape& from, const Shape& to) {
  Indices index(to.size(), Expr(0));
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && from[i] == 1) {
      ++i;
    } else if (j < to.size() && to[j] == 1) {
      ++j;
    } else if (i < from.size() && j < to.size() && from[i] == to[j]) {
      index[j++] = at[i++];
    } else {
      // The shortest runs with as many elements on both sides.
      Indices part_at;
      Shape part_from, part_to;
      std::int64_t a = 1, b = 1;
      const std::size_t first = j;
      do {
        if (a <= b && i < from.size()) {
          a *= from[i];
          part_from.push_back(from[i]);
          part_at.push_back(at[i++]);
        } else {
          b *= to[j];
          part_to.push_back(to[j++]);
        }
      } while (a != b);
      const Indices part = indices_of(flat_position(part_at, part_from), part_to);
      std::copy(part.begin(), part.end(), index.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
  return index;
}

void emit_view(Emitter& e) {
  const Shape to = e.shape(0), from = e.result().shape;
  e.define([&](const Indices& at) { return e.read(0, same_place(at, from, to)); });
}

std::vector<Constant> evaluate_shape(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs[0]).shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto clamp = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const std::int64_t start = clamp(node.integer("start", 0));
  const std::int64_t end = clamp(node.integer("end", rank));
  return {integer_constant(start < end ? List(x.begin() + start, x.begin() + end) : List{})};
}
std::vector<Constant> evaluate_size(const Graph& graph, const Node& node) {
  const std::int64_t n = num_elements(graph.value(node.inputs[0]).shape);
  return {constant_of<std::int64_t>(DType::i64, {}, std::span<const std::int64_t>(&n, 1))};
}

/// The attributes of a Constant node: value, value_float(s), value_int(s).
std::vector<Constant> evaluate_constant(const Graph&, const Node& node) {
  if (const AttributeValue* value = node.find("value")) {
    if (const auto* constant = std::get_if<Constant>(value)) {
      return {*constant};
    }
  }
  const auto floats = [](const std::vector<double>& list, Shape shape) {
    const std::vector<float> narrow(list.begin(), list.end());
    return constant_of<float>(DType::f32, std::move(shape), narrow);
  };
  if (const AttributeValue* value = node.find("value_float")) {
    if (const auto* real = std::get_if<double>(value)) {
      return {floats({*real}, {})};
    }
  }
  if (const AttributeValue* value = node.find("value_floats")) {
    if (const auto* list = std::get_if<std::vector<double>>(value)) {
      return {floats(*list, {static_cast<std::int64_t>(list->size())})};
    }
  }
  if (node.has("value_int")) {
    const std::int64_t n = node.integer("value_int", 0);
    return {constant_of<std::int64_t>(DType::i64, {}, std::span<const std::int64_t>(&n, 1))};
  }
  if (node.has("value_ints")) {
    return {integer_constant(node.integers("value_ints"))};
  }
  refuse("has no value of a type that is supported");
}

std::vector<Constant> evaluate_constant_of_shape(const Graph& graph, const Node& node) {
  const Shape shape = graph.value(node.inputs[0]).constant.integers();
  const std::int64_t n = elements_of(shape);
  HostArray one(DType::f32, {});
  if (const AttributeValue* value = node.find("value")) {
    if (const auto* constant = std::get_if<Constant>(value)) {
      one = host_array(*constant, false);
    }
  }
  if (n > (std::int64_t{1} << 28)) {
    refuse("makes a constant of " + std::to_string(n) + " elements");
  }
  HostArray filled(one.dtype, shape);
  for (std::int64_t i = 0; i < n; ++i) {
    filled.set(i, one.get(0));
  }
  return {constant_from(filled)};
}

std::vector<Constant> evaluate_range(const Graph& graph, const Node& node) {
  const auto of = [&](std::size_t i) -> const Constant& {
    return graph.value(node.inputs[i]).constant;
  };
  const bool is_real = is_float(of(0).dtype);
  const double step = of(2).real(0);
  const auto number = [&](std::size_t i) {
    return is_real ? of(i).real(0) : static_cast<double>(of(i).integer(0));
  };
  const double span = number(1) - number(0);  // of whole numbers it may leave their range
  const double count = step == 0 ? -1 : std::ceil(span / step);
  if (step == 0 || !(count <= 1 << 28)) {
    refuse("has a range without an end");
  }
  HostArray made(of(0).dtype, {std::max<std::int64_t>(0, static_cast<std::int64_t>(count))});
  for (std::int64_t i = 0; i < made.num_elements(); ++i) {
    if (is_real) {
      made.set_real(i, of(0).real(0) + static_cast<double>(i) * step);
    } else {
      made.set_int(i, of(0).integer(0) + i * of(2).integer(0));
    }
  }
  return {constant_from(made)};
}

std::vector<Constant> evaluate_non_zero(const Graph& graph, const Node& node) {
  const Constant& x = graph.value(node.inputs[0]).constant;
  std::vector<List> places(x.shape.size());
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < num_elements(x.shape); ++i) {
    if (x.real(i) != 0) {
      ++count;
      std::int64_t rest = i;
      for (std::size_t d = x.shape.size(); d-- > 0;) {
        places[d].push_back(rest % x.shape[d]);
        rest /= x.shape[d];
      }
    }
  }
  List all;
  for (const List& axis : places) {
    all.insert(all.end(), axis.begin(), axis.end());
  }
  return {constant_of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(x.shape.size()), count},
                                    all)};
}

std::vector<Constant> evaluate_eye_like(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  const std::int64_t k = node.integer("k", 0);
  if (x.shape.size() != 2) {
    refuse("has an input " + shape_text(x.shape) + " that is no matrix");
  }
  HostArray made(dtype_from_name(node.text("dtype", "")).value_or(x.dtype), x.shape);
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    if (i + k >= 0 && i + k < x.shape[1]) {
      const std::int64_t at = i * x.shape[1] + i + k;
      if (is_float(made.dtype)) {
        made.set_real(at, 1);
      } else {
        made.set_int(at, 1);
      }
    }
  }
  return {constant_from(made)};
}

OperatorRow view_row(std::string_view op, void (*infer)(Inference&)) {
  OperatorRow made = computed_row(op, Pattern::injective, infer, emit_view);
  made.facts.is_view = true;
  return made;
}
OperatorRow folded_row(std::string_view op,
                       std::vector<Constant> (*evaluate)(const Graph&, const Node&),
                       bool is_of_shape = false) {
  OperatorRow made;
  made.facts = {op, Pattern::opaque, false, true};
  made.evaluate = evaluate;
  made.is_of_shape = is_of_shape;
  return made;
}

}  // namespace

std::vector<OperatorRow> shape_rows() {
  return {view_row("Reshape", infer_reshape),
          view_row("Flatten", infer_flatten),
          view_row("Squeeze", infer_squeeze),
          view_row("Unsqueeze", infer_unsqueeze),
          view_row("Identity", infer_identity),
          view_row("Dropout", infer_dropout),
          folded_row("Shape", evaluate_shape, true),
          folded_row("Size", evaluate_size, true),
          folded_row("Constant", evaluate_constant),
          folded_row("ConstantOfShape", evaluate_constant_of_shape),
          folded_row("Range", evaluate_range),
          folded_row("NonZero", evaluate_non_zero),
          folded_row("EyeLike", evaluate_eye_like, true)};
}

}  // namespace tensorsmith::graph
