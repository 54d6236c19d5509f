// SPDX-License-Identifier: Apache-2.0
// Elements by tuples of indices: read (GatherND) and written (ScatterND, ScatterElements), one-hot
// vectors, rows turned round.
//
// What is written by index is read here: every element of the result looks for the update that
// names it. That is a reduction over all updates, and no kernel writes to places that data chooses.
// Where the indices are constant, a table says which update an element gets.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

/// The part [first, last) of a list.
template <class List>
List part(const List& list, std::size_t first, std::size_t last) {
  return List(list.begin() + static_cast<std::ptrdiff_t>(first),
              list.begin() + static_cast<std::ptrdiff_t>(last));
}
template <class List>
List joined(List a, const List& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- tuples ------------------------------------------------------------------------------------

/// Axes that the tuples of `indices` name, behind `batch`.
std::size_t tuple_length(const Inference& in, std::size_t batch) {
  const Shape &x = in.shape(0), &indices = in.shape(1);
  if (indices.empty() || indices.back() < 1 ||
      batch + static_cast<std::size_t>(indices.back()) > x.size() || batch + 1 > indices.size()) {
    refuse("has indices " + shape_text(indices) + " for " + shape_text(x));
  }
  return static_cast<std::size_t>(indices.back());
}

std::size_t batch_of(const Node& node) {
  const std::int64_t batch = node.integer("batch_dims", 0);
  if (batch < 0 || batch > 100) {
    refuse("has batch_dims " + std::to_string(batch));
  }
  return static_cast<std::size_t>(batch);
}

void infer_gather_nd(Inference& in) {
  const std::size_t batch = batch_of(in.node()), length = tuple_length(in, batch);
  const Shape &x = in.shape(0), &indices = in.shape(1);
  if (part(x, 0, batch) != part(indices, 0, batch)) {
    refuse("has indices " + shape_text(indices) + " for " + shape_text(x));
  }
  in.set(in.dtype(0),
         joined(part(indices, 0, indices.size() - 1), part(x, batch + length, x.size())));
}
void emit_gather_nd(Emitter& e) {
  const Shape& x = e.shape(0);
  const std::size_t batch = batch_of(e.node()), tuples = e.shape(1).size() - 1;
  const auto length = static_cast<std::size_t>(e.shape(1).back());
  e.define([&](const Indices& at) {
    Indices index = part(at, 0, batch);
    for (std::size_t k = 0; k < length; ++k) {
      Indices of_index = part(at, 0, tuples);
      of_index.push_back(whole(e, static_cast<std::int64_t>(k)));
      index.push_back(from_the_end(e, e.read(1, of_index), x[batch + k]));
    }
    return e.read(0, joined(index, part(at, tuples, at.size())));
  });
}

// --- updates -----------------------------------------------------------------------------------

enum class Update : std::uint8_t { replace, add, mul, max, min };

Update update_of(const Node& node) {
  const std::string name = node.text("reduction", "none");
  constexpr std::pair<std::string_view, Update> known[] = {{"none", Update::replace},
                                                           {"add", Update::add},
                                                           {"mul", Update::mul},
                                                           {"max", Update::max},
                                                           {"min", Update::min}};
  for (const auto& [word, update] : known) {
    if (word == name) {
      return update;
    }
  }
  refuse("has an unknown reduction \"" + name + "\"");
}

/// An element `at` is written by the updates `j` for which `names(at, j)`, with `value(at, j)`; of
/// several the last one in row-major order of `updates` replaces.
template <class Names, class Value>
void write_updates(Emitter& e, Update update, const Shape& updates, const Names& names,
                   const Value& value) {
  const DType type = e.result_type();
  te::ReduceAxes axes;
  for (std::size_t d = 0; d < updates.size(); ++d) {
    axes.push_back(e.axis("j" + std::to_string(d), updates[d]));
  }
  Indices j;
  for (const te::ReduceAxis& axis : axes) {
    j.push_back(axis);
  }
  if (axes.empty()) {  // one update
    axes.push_back(e.axis("j", 1));
  }
  const Shape& shape = e.result().shape;
  if (update == Update::replace) {
    const te::Tensor last = e.stage("last", shape, [&](const Indices& at) {
      const Expr position = j.empty() ? whole(e, 0) : flat_position(j, updates);
      return te::max(te::select(names(at, j), position, whole(e, -1)), axes);
    });
    return e.define([&](const Indices& at) {
      const Expr place = last.at(at);
      const Indices found = indices_of(te::max(place, whole(e, 0)), updates);
      return te::select(place >= 0, value(at, found), e.read(0, at));
    });
  }
  const bool is_sum = update == Update::add, is_product = update == Update::mul;
  const DType wide = is_sum || is_product ? ops::detail::accumulator_of(type) : type;
  const Expr nothing = is_sum || is_product
                           ? number(e, wide, is_sum ? 0 : 1)
                           : te::detail::extreme(wide, update == Update::max ? -1 : 1);
  const te::Tensor all = e.stage("updates", shape, [&](const Indices& at) {
    const Expr one = te::select(names(at, j), te::cast(wide, value(at, j)), nothing);
    return is_sum                  ? te::sum(one, axes)
           : is_product            ? te::prod(one, axes)
           : update == Update::max ? te::maximum(one, axes)
                                   : te::minimum(one, axes);
  });
  e.define([&](const Indices& at) {
    const Expr x = te::cast(wide, e.read(0, at)), more = all.at(at);
    return te::cast(type, is_sum                  ? x + more
                          : is_product            ? x * more
                          : update == Update::max ? te::maximum(x, more)
                                                  : te::minimum(x, more));
  });
}

void infer_scatter_nd(Inference& in) {
  const std::size_t length = tuple_length(in, 0);
  const Shape &x = in.shape(0), &indices = in.shape(1);
  if (in.shape(2) != joined(part(indices, 0, indices.size() - 1), part(x, length, x.size())) ||
      in.dtype(2) != in.dtype(0)) {
    refuse("has updates " + shape_text(in.shape(2)) + " for indices " + shape_text(indices) +
           " and data " + shape_text(x));
  }
  (void)update_of(in.node());
  in.set(in.dtype(0), x);
}
void emit_scatter_nd(Emitter& e) {
  const Shape &x = e.shape(0), &indices = e.shape(1);
  const auto length = static_cast<std::size_t>(indices.back());
  const Shape tuples = part(indices, 0, indices.size() - 1);
  write_updates(
      e, update_of(e.node()), tuples,
      [&](const Indices& at, const Indices& j) {
        Expr is_named = whole(e, 0) == 0;
        for (std::size_t k = 0; k < length; ++k) {
          Indices of_index = j;
          of_index.push_back(whole(e, static_cast<std::int64_t>(k)));
          const Expr same = from_the_end(e, e.read(1, of_index), x[k]) == at[k];
          is_named = k == 0 ? same : is_named && same;
        }
        return is_named;
      },
      [&](const Indices& at, const Indices& j) {
        return e.read(2, joined(j, part(at, length, at.size())));
      });
}

void infer_scatter_elements(Inference& in) {
  const Shape &x = in.shape(0), &indices = in.shape(1);
  const std::size_t axis = normalized_axis(in.node().integer("axis", 0), x.size());
  bool fits = indices.size() == x.size() && in.shape(2) == indices && in.dtype(2) == in.dtype(0);
  for (std::size_t d = 0; fits && d < x.size(); ++d) {
    fits = d == axis || indices[d] <= x[d];
  }
  if (!fits) {
    refuse("has indices " + shape_text(indices) + " and updates " + shape_text(in.shape(2)) +
           " for " + shape_text(x));
  }
  (void)update_of(in.node());
  in.set(in.dtype(0), x);
}
void emit_scatter_elements(Emitter& e) {
  const Shape &x = e.shape(0), &indices = e.shape(1);
  const std::size_t axis = normalized_axis(e.node().integer("axis", 0), x.size());
  /// The update's place: that of the result but along the axis, where there is one.
  const auto place = [&](const Indices& at, const Indices& j) {
    Indices index = at;
    for (std::size_t d = 0; d < x.size(); ++d) {
      index[d] = d == axis           ? j[0]
                 : indices[d] < x[d] ? te::min(at[d], whole(e, indices[d] - 1))
                                     : at[d];
    }
    return index;
  };
  write_updates(
      e, update_of(e.node()), {indices[axis]},
      [&](const Indices& at, const Indices& j) {
        Expr is_named = from_the_end(e, e.read(1, place(at, j)), x[axis]) == at[axis];
        for (std::size_t d = 0; d < x.size(); ++d) {
          if (d != axis && indices[d] < x[d]) {
            is_named = is_named && at[d] < indices[d];
          }
        }
        return is_named;
      },
      [&](const Indices& at, const Indices& j) { return e.read(2, place(at, j)); });
}

// --- updates at constant places ------------------------------------------------------------------

/// Rows of the result and, for each, the update that it gets; -1: none.
struct Places {
  std::int64_t inner = 1;  ///< elements of a row
  std::vector<std::int32_t> update;
};

/// Nothing where an index lies outside, or an element gets several updates that are combined.
std::optional<Places> places_of(const Inference& in, Update update) {
  const Shape &x = in.shape(0), &indices = in.shape(1);
  const List index = in.value(1).constant.integers();
  const bool is_nd = in.node().op == "ScatterND";
  const auto length = is_nd ? static_cast<std::size_t>(indices.back()) : x.size();
  Places places;
  places.inner = num_elements(part(x, length, x.size()));
  const std::int64_t rows = num_elements(part(x, 0, length));
  if (rows > INT32_MAX || num_elements(in.shape(2)) > INT32_MAX) {
    return std::nullopt;
  }
  places.update.assign(static_cast<std::size_t>(rows), -1);
  const std::size_t axis = is_nd ? 0 : normalized_axis(in.node().integer("axis", 0), x.size());
  const std::size_t count = is_nd ? index.size() / length : index.size();
  for (std::size_t u = 0; u < count; ++u) {
    std::int64_t row = 0, stride = 1, rest = static_cast<std::int64_t>(u);
    for (std::size_t d = length; d-- > 0;) {
      std::int64_t at = 0;
      if (is_nd || d == axis) {
        at = index[is_nd ? u * length + d : u];
        at += at < 0 ? x[d] : 0;
      }
      if (!is_nd) {
        at = d == axis ? at : rest % indices[d];
        rest /= indices[d];
      }
      if (at < 0 || at >= x[d]) {
        return std::nullopt;
      }
      row += at * stride;
      stride *= x[d];
    }
    std::int32_t& place = places.update[static_cast<std::size_t>(row)];
    if (place >= 0 && update != Update::replace) {
      return std::nullopt;
    }
    place = static_cast<std::int32_t>(u);
  }
  return places;
}

// Every row reads the update that it gets from a table: Where(is updated, update[table], x).
std::vector<Node> expand_scatter(Graph& graph, Node node) {
  const Inference in(graph, node);
  if (!in.is_constant(1) || num_elements(in.shape(1)) == 0) {
    return {};
  }
  const Update update = update_of(node);
  const std::optional<Places> places = places_of(in, update);
  if (!places) {
    return {};
  }
  const Shape shape = in.shape(0);
  const auto rows = static_cast<std::int64_t>(places->update.size());
  std::vector<Node> nodes;
  const auto emit = [&](const char* op, std::vector<ValueId> inputs) {
    Value value;
    value.dtype = graph.value(node.inputs[0]).dtype;
    nodes.push_back({op, node.name, {}, std::move(inputs), {graph.add_value(std::move(value))}});
    return nodes.back().outputs[0];
  };
  const auto reshaped = [&](ValueId x, const Shape& to) {
    return emit("Reshape", {x, graph.add_constant("", integer_constant(to))});
  };
  std::vector<std::int32_t> table;
  std::vector<std::byte> mask;
  for (const std::int32_t place : places->update) {
    table.push_back(std::max(place, 0));
    mask.push_back(std::byte{place >= 0});
  }
  const bool is_whole = std::find(mask.begin(), mask.end(), std::byte{0}) == mask.end();
  const ValueId from = graph.add_constant(
      "", constant_of<std::int32_t>(DType::i32, {rows}, std::span<const std::int32_t>(table)));
  const ValueId x = reshaped(node.inputs[0], {rows, places->inner});
  ValueId y = emit("Gather", {reshaped(node.inputs[2], {-1, places->inner}), from});
  y = update == Update::add   ? emit("Add", {x, y})
      : update == Update::mul ? emit("Mul", {x, y})
      : update == Update::max ? emit("Max", {x, y})
      : update == Update::min ? emit("Min", {x, y})
                              : y;
  if (!is_whole) {
    const ValueId is_updated =
        graph.add_constant("", make_constant(DType::boolean, {rows, 1}, std::move(mask)));
    y = emit("Where", {is_updated, y, x});
  }
  reshaped(y, shape);
  nodes.back().outputs = {node.outputs[0]};
  return nodes;
}

OperatorRow scatter_row(std::string_view op, void (*infer)(Inference&), void (*emit)(Emitter&)) {
  OperatorRow made = computed_row(op, Pattern::opaque, infer, emit);
  made.expand = expand_scatter;
  return made;
}

// --- others ------------------------------------------------------------------------------------

void infer_one_hot(Inference& in) {
  const std::int64_t depth = in.constant(1, "depth").integer(0);
  const std::size_t axis = normalized_axis(in.node().integer("axis", -1), in.rank(0) + 1);
  if (depth < 1 || depth > INT32_MAX || in.shape(2) != Shape{2}) {
    refuse("has a depth of " + std::to_string(depth) + " and values " + shape_text(in.shape(2)));
  }
  Shape shape = in.shape(0);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  in.set(in.dtype(2), shape);
}
void emit_one_hot(Emitter& e) {
  const std::int64_t depth = e.value(1).constant.integer(0);
  const std::size_t axis = normalized_axis(e.node().integer("axis", -1), e.shape(0).size() + 1);
  e.define([&](const Indices& at) {
    const Indices index = joined(part(at, 0, axis), part(at, axis + 1, at.size()));
    return te::select(from_the_end(e, e.read(0, index), depth) == at[axis],
                      e.read(2, {whole(e, 1)}), e.read(2, {whole(e, 0)}));
  });
}

void infer_reverse(Inference& in) {
  const std::int64_t batch = in.node().integer("batch_axis", 1),
                     time = in.node().integer("time_axis", 0);
  const bool fits = in.rank(0) >= 2 && (batch == 0 || batch == 1) && time == 1 - batch &&
                    in.shape(1) == Shape{in.shape(0)[static_cast<std::size_t>(batch)]};
  if (!fits) {
    refuse("has lengths " + shape_text(in.shape(1)) + " for " + shape_text(in.shape(0)));
  }
  in.set(in.dtype(0), in.shape(0));
}
void emit_reverse(Emitter& e) {
  const auto time = static_cast<std::size_t>(e.node().integer("time_axis", 0));
  e.define([&](const Indices& at) {
    const Expr length = te::cast(DType::i32, e.read(1, {at[1 - time]}));
    Indices index = at;
    // In range whatever the length is.
    index[time] =
        te::select(at[time] < length,
                   te::min(length - 1 - at[time], whole(e, e.shape(0)[time] - 1)), at[time]);
    return e.read(0, index);
  });
}

}  // namespace

std::vector<OperatorRow> scatter_rows() {
  return {computed_row("GatherND", Pattern::injective, infer_gather_nd, emit_gather_nd),
          scatter_row("ScatterND", infer_scatter_nd, emit_scatter_nd),
          scatter_row("ScatterElements", infer_scatter_elements, emit_scatter_elements),
          computed_row("OneHot", Pattern::injective, infer_one_hot, emit_one_hot),
          computed_row("ReverseSequence", Pattern::injective, infer_reverse, emit_reverse)};
}

}  // namespace tensorsmith::graph
