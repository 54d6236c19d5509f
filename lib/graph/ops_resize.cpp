// SPDX-License-Identifier: Apache-2.0
// Resize: nearest elements, and linear interpolation, to constant sizes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

/// Where the elements of the result come from along one axis: one place, or that and the next with
/// weights. Places outside of the axis mean its ends.
struct AxisMap {
  std::vector<std::int64_t> low;
  std::vector<double> weight;  ///< of the next place
  double first = 0, step = 0;  ///< the places, before they are cut off, lie on a line
  std::int64_t extent = 1;
  bool is_identity = true, is_linear = false;
  bool is_cubic = false;  ///< of the place before, that place, and the two behind
  double cubic_coefficient = -0.75;
  bool excludes_outside = false;  ///< places outside have no weight
};

std::vector<double> scales_of(const Graph& graph, const Node& node, const Shape& x, Shape& result) {
  std::vector<std::size_t> axes;
  const List named = node.integers("axes");
  if (named.empty()) {
    for (std::size_t d = 0; d < x.size(); ++d) {
      axes.push_back(d);
    }
  } else {
    for (const std::int64_t axis : named) {
      axes.push_back(normalized_axis(axis, x.size()));
    }
  }
  std::vector<double> scales(x.size(), 1);
  result = x;
  const auto constant = [&](std::size_t i) -> const Constant* {
    if (!node.has_input(i)) {
      return nullptr;
    }
    const Value& value = graph.value(node.inputs[i]);
    if (!value.is_constant) {
      refuse("resizes by what is no constant");
    }
    return num_elements(value.shape) == 0 ? nullptr : &value.constant;
  };
  if (const Constant* by = constant(2)) {
    const std::vector<double> list = by->reals();
    if (list.size() != axes.size()) {
      refuse("has " + std::to_string(list.size()) + " scales for " + shape_text(x));
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      scales[axes[i]] = list[i];
      result[axes[i]] =
          static_cast<std::int64_t>(std::floor(static_cast<double>(x[axes[i]]) * list[i]));
    }
  } else if (const Constant* to = constant(3)) {
    const List list = to->integers();
    const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
    if (list.size() != axes.size() ||
        (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")) {
      refuse("has sizes " + shape_text(list) + " for " + shape_text(x) + ", policy \"" + policy +
             "\"");
    }
    double common = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      result[axes[i]] = list[i];
      scales[axes[i]] = static_cast<double>(list[i]) / static_cast<double>(x[axes[i]]);
      common = i == 0                   ? scales[axes[i]]
               : policy == "not_larger" ? std::min(common, scales[axes[i]])
                                        : std::max(common, scales[axes[i]]);
    }
    for (std::size_t i = 0; policy != "stretch" && i < axes.size(); ++i) {
      scales[axes[i]] = common;
      result[axes[i]] =
          static_cast<std::int64_t>(std::floor(common * static_cast<double>(x[axes[i]]) + 0.5));
    }
  } else {
    refuse("has neither scales nor sizes");
  }
  for (const std::int64_t extent : result) {
    if (extent < 1 || extent > INT32_MAX) {
      refuse("resizes " + shape_text(x) + " to " + shape_text(result));
    }
  }
  return scales;
}

double original_place(const std::string& mode, double i, double scale, double from, double to) {
  if (mode == "asymmetric") {
    return i / scale;
  }
  if (mode == "align_corners") {
    return to > 1 ? i * (from - 1) / (to - 1) : 0;
  }
  if (mode == "pytorch_half_pixel") {
    return to > 1 ? (i + 0.5) / scale - 0.5 : 0;
  }
  if (mode == "half_pixel_symmetric") {
    const double adjustment = to / (scale * from);
    return from / 2 * (1 - adjustment) + (i + 0.5) / scale - 0.5;
  }
  if (mode == "half_pixel") {
    return (i + 0.5) / scale - 0.5;
  }
  refuse("has an unsupported coordinate_transformation_mode \"" + mode + "\"");
}

std::int64_t nearest(const std::string& mode, double place) {
  if (mode == "floor") {
    return static_cast<std::int64_t>(std::floor(place));
  }
  if (mode == "ceil") {
    return static_cast<std::int64_t>(std::ceil(place));
  }
  if (mode == "round_prefer_ceil") {
    return static_cast<std::int64_t>(std::floor(place + 0.5));
  }
  if (mode == "round_prefer_floor") {
    return static_cast<std::int64_t>(std::ceil(place - 0.5));
  }
  refuse("has an unsupported nearest_mode \"" + mode + "\"");
}

std::vector<AxisMap> maps_of(const Graph& graph, const Node& node, const Shape& x, Shape& result) {
  const std::vector<double> scales = scales_of(graph, node, x, result);
  const std::string mode = node.text("mode", "nearest");
  const std::string places = node.text("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = node.text("nearest_mode", "round_prefer_floor");
  if ((mode != "nearest" && mode != "linear" && mode != "cubic") ||
      node.integer("antialias", 0) != 0) {
    refuse("has a mode that is not supported, \"" + mode + "\" or antialias");
  }
  std::vector<AxisMap> maps(x.size());
  for (std::size_t d = 0; d < x.size(); ++d) {
    AxisMap& map = maps[d];
    map.extent = x[d];
    map.is_cubic = mode == "cubic";
    map.cubic_coefficient = node.real("cubic_coeff_a", -0.75);
    map.excludes_outside = node.integer("exclude_outside", 0) != 0;
    for (std::int64_t i = 0; i < result[d]; ++i) {
      // Of scales that floats of 32 bits hold: a little off, a place would fall beside its element.
      const double place =
          original_place(places, static_cast<double>(i), scales[d], static_cast<double>(x[d]),
                         static_cast<double>(result[d]));
      const double snapped =
          std::abs(place - std::nearbyint(place)) < 1e-6 ? std::nearbyint(place) : place;
      if (i < 2) {
        (i == 0 ? map.first : map.step) = i == 0 ? place : place - map.first;
      }
      if (mode == "nearest") {
        map.low.push_back(nearest(rounding, snapped));
        map.weight.push_back(0);
      } else {
        map.low.push_back(static_cast<std::int64_t>(std::floor(snapped)));
        map.weight.push_back(snapped - std::floor(snapped));
      }
      map.is_linear = map.is_linear || map.weight.back() != 0;
      map.is_identity = map.is_identity && map.low.back() == i && map.weight.back() == 0;
    }
    map.is_identity = map.is_identity && result[d] == x[d];
  }
  return maps;
}

void infer_resize(Inference& in) {
  Shape result;
  (void)maps_of(in.graph(), in.node(), in.shape(0), result);
  in.set(in.dtype(0), result);
}

/// (a * i + b) / c, rounded down.
struct Line {
  std::int64_t a = 0, b = 0, c = 1;
};
bool fits(const Line& line, const std::vector<std::int64_t>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t top = line.a * static_cast<std::int64_t>(i) + line.b;
    const std::int64_t quotient = top / line.c - (top % line.c < 0 ? 1 : 0);
    if (quotient != places[i]) {
      return false;
    }
  }
  return true;
}
/// The line on which the places are, with the smallest divisor; false if none is found.
bool find_line(const std::vector<std::int64_t>& places, Line& line) {
  const auto n = static_cast<std::int64_t>(places.size());
  const double slope =
      n > 1 ? static_cast<double>(places.back() - places.front()) / static_cast<double>(n - 1) : 0;
  for (std::int64_t c = 1; c <= 64; ++c) {
    const auto low = static_cast<std::int64_t>(std::floor(slope * static_cast<double>(c)));
    for (std::int64_t a = std::max<std::int64_t>(0, low - 1); a <= low + 2; ++a) {
      for (std::int64_t b = 0; b < c; ++b) {
        line = {a, b + c * places.front(), c};
        if (fits(line, places)) {
          return true;
        }
      }
    }
  }
  return false;
}

/// One of the values, by a tree of comparisons.
Expr choose(Emitter& e, const Expr& i, const std::vector<double>& values, DType type,
            std::size_t first, std::size_t last) {
  bool is_one = true;
  for (std::size_t k = first + 1; k < last; ++k) {
    is_one = is_one && values[k] == values[first];
  }
  if (is_one) {
    return number(e, type, values[first]);
  }
  const std::size_t middle = first + (last - first) / 2;
  return te::select(i < static_cast<std::int64_t>(middle),
                    choose(e, i, values, type, first, middle),
                    choose(e, i, values, type, middle, last));
}

/// The line on which the places lie with their weights, as the extents say it: aligned corners,
/// aligned borders, or both of these moved by half an element.
bool find_exact_line(const AxisMap& map, Line& line) {
  const std::int64_t from = map.extent, to = static_cast<std::int64_t>(map.low.size());
  for (Line candidate :
       {Line{from - 1, 0, to - 1}, Line{from, 0, to}, Line{2 * from, from - to, 2 * to}}) {
    const std::int64_t shared = std::gcd(std::gcd(candidate.a, candidate.b), candidate.c);
    if (candidate.c < 1 || candidate.a * to > INT32_MAX) {
      continue;
    }
    candidate = {candidate.a / shared, candidate.b / shared, candidate.c / shared};
    bool are_same = fits(candidate, map.low);
    for (std::int64_t i = 0; are_same && i < to; ++i) {
      const std::int64_t rest =
          candidate.a * i + candidate.b - candidate.c * map.low[static_cast<std::size_t>(i)];
      are_same = std::abs(static_cast<double>(rest) / static_cast<double>(candidate.c) -
                          map.weight[static_cast<std::size_t>(i)]) < 1e-6;
    }
    if (are_same) {
      line = candidate;
      return true;
    }
  }
  return false;
}

Expr place_of(Emitter& e, const Expr& i, const AxisMap& map) {
  Line line;
  if (find_line(map.low, line) || find_exact_line(map, line)) {
    return te::floordiv(i * line.a + line.b, line.c);
  }
  const std::vector<double> values(map.low.begin(), map.low.end());
  return choose(e, i, values, DType::i32, 0, values.size());
}

/// Weights that repeat after a few elements are chosen from; else they follow from the place.
Expr weight_of(Emitter& e, const Expr& i, const Expr& place, const AxisMap& map, DType wide) {
  constexpr std::size_t most = 16;
  for (std::size_t period = 1; period <= most; ++period) {
    bool repeats = true;
    for (std::size_t k = period; k < map.weight.size(); ++k) {
      repeats = repeats && std::abs(map.weight[k] - map.weight[k - period]) < 1e-9;
    }
    if (repeats) {
      const std::size_t count = std::min(period, map.weight.size());
      const Expr at = period == 1 ? i : te::floormod(i, static_cast<std::int64_t>(period));
      return choose(e, at, map.weight, wide, 0, count);
    }
  }
  Line line;
  if (find_exact_line(map, line)) {
    return te::cast(wide, i * line.a + line.b - place * line.c) *
           (1.0 / static_cast<double>(line.c));
  }
  return te::cast(wide, i) * map.step + map.first - te::cast(wide, place);
}

/// Keys' weights of the four places around one that lies t behind the second.
std::vector<Expr> cubic_weights(const Expr& t, double a) {
  const auto near = [a](const Expr& s) { return (s * (a + 2) - (a + 3)) * s * s + 1.0; };
  const auto far = [a](const Expr& s) { return ((s * a - 5 * a) * s + 8 * a) * s - 4 * a; };
  return {far(t + 1.0), near(t), near(-t + 1.0), far(-t + 2.0)};
}

void emit_resize(Emitter& e) {
  Shape result;
  const std::vector<AxisMap> maps = maps_of(e.graph(), e.node(), e.shape(0), result);
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  e.define([&](const Indices& at) {
    // One axis after the other: every axis that is interpolated doubles the elements read.
    const auto read = [&](const auto& self, std::size_t d, Indices index) -> Expr {
      if (d == maps.size()) {
        return te::cast(wide, e.read(0, index));
      }
      const AxisMap& map = maps[d];
      if (map.is_identity) {
        return self(self, d + 1, index);
      }
      const Expr place = place_of(e, at[d], map);
      const auto inside = [&](const Expr& i) { return te::max(te::min(i, map.extent - 1), 0); };
      const auto [least, most] = std::minmax_element(map.low.begin(), map.low.end());
      const bool is_inside = *least >= 0 && *most < map.extent;
      index[d] = is_inside ? place : inside(place);
      const Expr low = self(self, d + 1, index);
      if (!map.is_linear) {
        return low;
      }
      if (map.is_cubic) {
        std::vector<Expr> weights =
            cubic_weights(weight_of(e, at[d], place, map, wide), map.cubic_coefficient);
        Expr sum = 0, total = 0;
        for (int k = 0; k < 4; ++k) {
          const Expr at_k = place + (k - 1);
          Expr weight = weights[static_cast<std::size_t>(k)];
          if (map.excludes_outside) {
            weight = te::select(at_k >= 0 && at_k < map.extent, weight, weight * 0.0);
            total = k == 0 ? weight : total + weight;
          }
          index[d] = inside(at_k);
          const Expr term = self(self, d + 1, index) * weight;
          sum = k == 0 ? term : sum + term;
        }
        return map.excludes_outside ? sum / total : sum;
      }
      index[d] = inside(place + 1);
      const Expr high = self(self, d + 1, index);
      return low + (high - low) * weight_of(e, at[d], place, map, wide);
    };
    return te::cast(type, read(read, 0, at));
  });
}

}  // namespace

std::vector<OperatorRow> resize_rows() {
  return {computed_row("Resize", Pattern::injective, infer_resize, emit_resize)};
}

}  // namespace tensorsmith::graph
