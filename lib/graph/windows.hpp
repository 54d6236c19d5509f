// SPDX-License-Identifier: Apache-2.0
// Windows that slide over one, two or three spatial axes: what convolutions and pools share.
//
// Private to lib/graph. Own design.
#pragma once

#include "graph/operators.hpp"

namespace tensorsmith::graph {

/// Windows along the spatial axes, and where the channels stand.
struct Windows {
  std::size_t rank = 2;
  bool is_last = false;  ///< channels last
  std::int64_t n = 1, c = 1;
  List spatial, kernel, strides, dilations, before, after, out;
  bool ceils = false;

  std::size_t channel() const { return is_last ? rank + 1 : 1; }
  std::size_t first() const { return is_last ? 1 : 2; }
  Shape activation(std::int64_t channels, const List& extents) const {
    Shape shape{n};
    if (!is_last) {
      shape.push_back(channels);
    }
    shape.insert(shape.end(), extents.begin(), extents.end());
    if (is_last) {
      shape.push_back(channels);
    }
    return shape;
  }
  std::vector<std::string> axes(const char* channels) const {
    static const char* const names[] = {"d", "h", "w"};
    std::vector<std::string> list{"n"};
    if (!is_last) {
      list.push_back(channels);
    }
    for (std::size_t a = 0; a < rank; ++a) {
      list.push_back(names[3 - rank + a]);
    }
    if (is_last) {
      list.push_back(channels);
    }
    return list;
  }
  std::int64_t reach(std::size_t a) const { return dilations[a] * (kernel[a] - 1) + 1; }
};

/// A list attribute with one number per spatial axis, none below `least`.
List per_axis(const Node& node, std::string_view name, std::size_t rank, std::int64_t otherwise,
              std::int64_t least);
/// Everything but `kernel` and what follows from it.
Windows activation_of(const Node& node, const Shape& x);
/// Padding and the extents of the result, of windows that slide over the input.
void place(Windows& w, const Node& node);
/// The input with `outside` around it, or the input itself.
te::Tensor padded(Emitter& e, const te::Tensor& x, const Windows& w, const List& before,
                  const List& after, const te::Expr& outside);
/// Reduction axes over the window.
te::ReduceAxes taps_of(Emitter& e, const Windows& w);
OperatorRow window_row(std::string_view op, void (*infer)(Inference&), void (*emit)(Emitter&));

}  // namespace tensorsmith::graph
