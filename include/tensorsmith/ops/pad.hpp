// SPDX-License-Identifier: Apache-2.0
// Zero (or other) padding of spatial axes as a stage of its own.
//
// Floor 3. Own design; shape and condition as in the programs of the Ansor reference: one
// if_then_else over the conjunction of the bounds, so that the read is guarded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/op.hpp"

namespace tensorsmith::ops::detail {

/// Where the spatial axes of an activation tensor stand, and what iterators over it are called.
struct ActivationAxes {
  std::vector<std::string> names;  ///< of all dimensions, channel "c"
  std::vector<std::string> spatial_names;
  std::size_t first_spatial = 1;
  std::size_t channel = 1;
};
inline ActivationAxes activation_axes(int rank, Layout layout, const std::string& channel = "c") {
  ActivationAxes axes;
  const std::vector<std::string> all{"d", "h", "w"};
  axes.spatial_names.assign(all.end() - rank, all.end());
  axes.names = {"n"};
  if (layout == Layout::nchw) {
    axes.names.push_back(channel);
    axes.first_spatial = 2;
  } else {
    axes.channel = static_cast<std::size_t>(rank) + 1;
  }
  axes.names.insert(axes.names.end(), axes.spatial_names.begin(), axes.spatial_names.end());
  if (layout == Layout::nhwc) {
    axes.names.push_back(channel);
  }
  return axes;
}
inline te::Shape activation_shape(int rank, Layout layout, std::int64_t n, std::int64_t c,
                                  const std::vector<std::int64_t>& spatial) {
  te::Shape shape{n};
  if (layout == Layout::nchw) {
    shape.push_back(c);
  }
  shape.insert(shape.end(), spatial.begin(), spatial.begin() + rank);
  if (layout == Layout::nhwc) {
    shape.push_back(c);
  }
  return shape;
}

/// The input itself if nothing is padded, else stage `name` with `value` around it.
inline te::Tensor pad_spatial(te::Program& program, const te::Tensor& in,
                              const ActivationAxes& axes, const std::vector<std::int64_t>& before,
                              const std::vector<std::int64_t>& after, const te::Expr& value,
                              const std::string& name = "Pad") {
  bool is_needed = false;
  te::Shape shape = in.shape();
  for (std::size_t s = 0; s < before.size(); ++s) {
    is_needed = is_needed || before[s] > 0 || after[s] > 0;
    shape[axes.first_spatial + s] += before[s] + after[s];
  }
  if (!is_needed) {
    return in;
  }
  return program.compute(name, shape,
                         [&](const std::vector<te::Expr>& at) {
                           std::vector<te::Expr> index = at, bounds;
                           for (std::size_t s = 0; s < before.size(); ++s) {
                             const std::size_t d = axes.first_spatial + s;
                             if (before[s] == 0 && after[s] == 0) {
                               continue;
                             }
                             bounds.push_back(at[d] >= before[s]);
                             bounds.push_back(at[d] < before[s] + in.extent(d));
                             index[d] = at[d] - before[s];
                           }
                           te::Expr inside = bounds[0];
                           for (std::size_t i = 1; i < bounds.size(); ++i) {
                             inside = inside && bounds[i];
                           }
                           return te::if_then_else(inside, in.at(index), value);
                         },
                         {axes.names, {}, {}});
}

}  // namespace tensorsmith::ops::detail
