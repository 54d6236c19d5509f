// SPDX-License-Identifier: Apache-2.0
// GridSample: elements at places that another tensor gives, interpolated.
#include <algorithm>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

enum class Outside : std::uint8_t { zeros, border, reflection };

/// One spatial axis: where -1 and 1 lie, and what places outside of it mean.
struct SampledAxis {
  std::int64_t extent = 1;
  bool aligns_corners = false;
  Outside outside = Outside::zeros;

  double low() const { return aligns_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(extent) - (aligns_corners ? 1 : 0.5); }

  /// Of -1 to 1, in elements.
  Expr place(const Expr& x) const {
    return aligns_corners ? (x + 1.0) * (0.5 * static_cast<double>(extent - 1))
                          : (x + 1.0) * (0.5 * static_cast<double>(extent)) - 0.5;
  }
  /// Back into the axis; places within are as they are.
  Expr inside(const Expr& x) const {
    if (outside == Outside::border) {
      return te::min(te::max(x, 0.0), static_cast<double>(extent - 1));
    }
    if (outside == Outside::reflection) {
      const double range = high() - low();
      if (range <= 0) {
        return x * 0.0;
      }
      // The distance from the lower end, folded: up and down again within two ranges.
      const Expr distance = te::abs(x - low());
      const Expr rest = distance - te::floor(distance / (2 * range)) * (2 * range);
      return te::select(rest > range, -rest + 2 * range, rest) + low();
    }
    return x;
  }
  /// A whole place as an index that memory has.
  Expr index(const Expr& x) const {
    const Expr within = outside == Outside::reflection ? inside(x) : x;
    const Expr limited = te::min(te::max(within, 0.0), static_cast<double>(extent - 1));
    return te::cast(DType::i32, limited);
  }
  Expr is_inside(const Expr& x) const { return x >= 0.0 && x <= static_cast<double>(extent - 1); }
};

std::vector<SampledAxis> axes_of(const Node& node, const Shape& x) {
  const std::string padding = node.text("padding_mode", "zeros");
  std::vector<SampledAxis> axes;
  for (std::size_t d = 2; d < x.size(); ++d) {
    SampledAxis axis;
    axis.extent = x[d];
    axis.aligns_corners = node.integer("align_corners", 0) != 0;
    axis.outside = padding == "border"       ? Outside::border
                   : padding == "reflection" ? Outside::reflection
                                             : Outside::zeros;
    axes.push_back(axis);
  }
  return axes;
}

void infer_grid_sample(Inference& in) {
  const Shape &x = in.shape(0), &grid = in.shape(1);
  const std::string mode = in.node().text("mode", "linear"),
                    padding = in.node().text("padding_mode", "zeros");
  const bool fits = x.size() >= 3 && x.size() <= 5 && grid.size() == x.size() && grid[0] == x[0] &&
                    grid.back() == static_cast<std::int64_t>(x.size()) - 2;
  if (!fits) {
    refuse("has a grid " + shape_text(grid) + " for " + shape_text(x));
  }
  if ((mode != "linear" && mode != "nearest" && (mode != "cubic" || x.size() != 4)) ||
      (padding != "zeros" && padding != "border" && padding != "reflection")) {
    refuse("has a mode that is not supported, \"" + mode + "\" or \"" + padding + "\"");
  }
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  in.set(in.dtype(0), shape);
}

/// Weights of the places floor(x) + first ... of one axis.
struct Taps {
  Expr floor;
  std::vector<int> offsets;
  std::vector<Expr> weights;
};

Taps taps_of(const std::string& mode, const Expr& x) {
  if (mode == "nearest") {
    return {te::round(x), {0}, {}};
  }
  const Expr floor = te::floor(x), t = x - floor;
  if (mode == "linear") {
    return {floor, {0, 1}, {-t + 1.0, t}};
  }
  // Keys' cubic with a = -0.75.
  constexpr double a = -0.75;
  const auto near = [](const Expr& s) { return ((s * (a + 2) - (a + 3)) * s) * s + 1.0; };
  const auto far = [](const Expr& s) { return ((s * a - 5 * a) * s + 8 * a) * s - 4 * a; };
  return {floor, {-1, 0, 1, 2}, {far(t + 1.0), near(t), near(-t + 1.0), far(-t + 2.0)}};
}

void emit_grid_sample(Emitter& e) {
  const Shape& x = e.shape(0);
  const std::string mode = e.node().text("mode", "linear");
  const std::vector<SampledAxis> axes = axes_of(e.node(), x);
  const DType type = e.result_type();
  const DType wide = ops::detail::accumulator_of(e.type(1));
  e.define([&](const Indices& at) {
    std::vector<Taps> taps;
    for (std::size_t d = 0; d < axes.size(); ++d) {
      // The grid's last axis begins with the place along the innermost spatial axis.
      Indices of_grid = {at[0]};
      of_grid.insert(of_grid.end(), at.begin() + 2, at.end());
      of_grid.push_back(whole(e, static_cast<std::int64_t>(axes.size() - 1 - d)));
      const Expr place = axes[d].place(te::cast(wide, e.read(1, of_grid)));
      const bool rounds_first = mode == "nearest";
      taps.push_back(taps_of(mode, axes[d].inside(rounds_first ? te::round(place) : place)));
    }
    Expr sum = 0;
    bool is_first = true;
    std::vector<std::size_t> digit(axes.size(), 0);
    for (;;) {
      Indices index = {at[0], at[1]};
      Expr weight = 0, is_inside = 0;
      for (std::size_t d = 0; d < axes.size(); ++d) {
        const Expr whole_place = taps[d].floor + static_cast<double>(taps[d].offsets[digit[d]]);
        index.push_back(axes[d].index(whole_place));
        if (!taps[d].weights.empty()) {
          const Expr w = taps[d].weights[digit[d]];
          weight = d == 0 ? w : weight * w;
        }
        const Expr in_axis = axes[d].is_inside(whole_place);
        is_inside = d == 0 ? in_axis : is_inside && in_axis;
      }
      Expr one = te::cast(wide, e.read(0, index));
      if (axes[0].outside == Outside::zeros) {
        one = te::select(is_inside, one, e.program().constant(wide, 0.0));
      }
      one = taps[0].weights.empty() ? one : one * weight;
      sum = is_first ? one : sum + one;
      is_first = false;
      std::size_t d = 0;
      while (d < axes.size() && ++digit[d] == taps[d].offsets.size()) {
        digit[d++] = 0;
      }
      if (d == axes.size()) {
        return te::cast(type, sum);
      }
    }
  });
}

}  // namespace

std::vector<OperatorRow> sample_rows() {
  return {computed_row("GridSample", Pattern::injective, infer_grid_sample, emit_grid_sample)};
}

}  // namespace tensorsmith::graph
