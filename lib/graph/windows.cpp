// SPDX-License-Identifier: Apache-2.0
#include "graph/windows.hpp"

#include <algorithm>

namespace tensorsmith::graph {

using te::Expr;

List per_axis(const Node& node, std::string_view name, std::size_t rank, std::int64_t otherwise,
              std::int64_t least) {
  List list = node.integers(name, List(rank, otherwise));
  if (list.size() != rank) {
    refuse("has " + std::to_string(list.size()) + " " + std::string(name) + " for " +
           std::to_string(rank) + " spatial axes");
  }
  for (const std::int64_t x : list) {
    if (x < least || x > (std::int64_t{1} << 30)) {
      refuse("has " + std::string(name) + " of " + std::to_string(x));
    }
  }
  return list;
}

Windows activation_of(const Node& node, const Shape& x) {
  if (x.size() < 3 || x.size() > 5) {
    refuse("has an input " + shape_text(x) + "; expected one, two or three spatial axes");
  }
  Windows w;
  w.rank = x.size() - 2;
  w.is_last = node.text("layout", "NCHW") == "NHWC";
  w.n = x[0];
  w.c = x[w.channel()];
  w.spatial.assign(x.begin() + static_cast<std::ptrdiff_t>(w.first()),
                   x.begin() + static_cast<std::ptrdiff_t>(w.first() + w.rank));
  w.strides = per_axis(node, "strides", w.rank, 1, 1);
  w.dilations = per_axis(node, "dilations", w.rank, 1, 1);
  w.ceils = node.integer("ceil_mode", 0) != 0;
  return w;
}

void place(Windows& w, const Node& node) {
  const std::string mode = node.text("auto_pad", "NOTSET");
  List pads = node.integers("pads", List(2 * w.rank, 0));
  if (pads.size() != 2 * w.rank) {
    refuse("has " + std::to_string(pads.size()) + " pads for " + std::to_string(w.rank) +
           " spatial axes");
  }
  for (std::size_t a = 0; a < w.rank; ++a) {
    std::int64_t before = mode == "NOTSET" ? pads[a] : 0;
    std::int64_t after = mode == "NOTSET" ? pads[w.rank + a] : 0;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const std::int64_t outputs = (w.spatial[a] + w.strides[a] - 1) / w.strides[a];
      const std::int64_t all =
          std::max<std::int64_t>(0, (outputs - 1) * w.strides[a] + w.reach(a) - w.spatial[a]);
      before = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
      after = all - before;
    }
    if (before < 0 || after < 0) {
      refuse("has negative pads");
    }
    const std::int64_t room = w.spatial[a] + before + after - w.reach(a);
    std::int64_t outputs = room < 0 ? 0 : room / w.strides[a] + 1;
    if (w.ceils && room >= 0 && room % w.strides[a] != 0 &&
        outputs * w.strides[a] < w.spatial[a] + before) {
      ++outputs;
    }
    if (outputs <= 0) {
      refuse("has a window of " + std::to_string(w.reach(a)) + " for an axis of " +
             std::to_string(w.spatial[a] + before + after) + " with its padding");
    }
    w.before.push_back(before);
    w.after.push_back(after);
    w.out.push_back(outputs);
  }
}

te::Tensor padded(Emitter& e, const te::Tensor& x, const Windows& w, const List& before,
                  const List& after, const Expr& outside) {
  bool pads = false;
  List extents;
  for (std::size_t a = 0; a < w.rank; ++a) {
    pads = pads || before[a] > 0 || after[a] > 0;
    extents.push_back(before[a] + w.spatial[a] + after[a]);
  }
  if (!pads) {
    return x;
  }
  return e.stage(
      "pad", w.activation(w.c, extents),
      [&](const Indices& at) -> Expr {
        Indices index = at;
        std::vector<Expr> inside;
        for (std::size_t a = 0; a < w.rank; ++a) {
          const Expr i = at[w.first() + a];
          index[w.first() + a] = i - before[a];
          if (before[a] > 0) {
            inside.push_back(i >= before[a]);
          }
          if (after[a] > 0) {
            inside.push_back(i < before[a] + w.spatial[a]);
          }
        }
        Expr condition = inside[0];
        for (std::size_t i = 1; i < inside.size(); ++i) {
          condition = condition && inside[i];
        }
        return te::if_then_else(condition, x.at(index), outside);
      },
      {}, w.axes("c"));
}

te::ReduceAxes taps_of(Emitter& e, const Windows& w) {
  static const char* const names[] = {"rd", "ry", "rx"};
  te::ReduceAxes taps;
  for (std::size_t a = 0; a < w.rank; ++a) {
    taps.push_back(e.axis(names[3 - w.rank + a], w.kernel[a]));
  }
  return taps;
}

OperatorRow window_row(std::string_view op, void (*infer)(Inference&), void (*emit)(Emitter&)) {
  return computed_row(op, Pattern::anchor, infer, emit);
}

}  // namespace tensorsmith::graph
