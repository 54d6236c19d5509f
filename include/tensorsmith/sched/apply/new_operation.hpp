// SPDX-License-Identifier: Apache-2.0
// What the steps that add an operation to the dag share: its name, its axes and its tensor.
//
// Floor 3. Ansor reference, ch. 2.2. Used by cache_read, cache_write and rfactor_dag.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::detail {

inline std::vector<Axis> new_axes(ExprPool& pool, const TensorInfo& tensor) {
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    axes.push_back({pool.new_var("ax" + std::to_string(d)), tensor.shape[d]});
  }
  return axes;
}

inline ExprList axis_refs(ExprPool& pool, const std::vector<Axis>& axes) {
  ExprList refs;
  for (const Axis& axis : axes) {
    refs.push_back(pool.var(axis.var));
  }
  return refs;
}

inline TensorId add_tensor(std::vector<TensorInfo>& tensors, const TensorInfo& like,
                           std::string name) {
  TensorInfo info = like;
  info.name = std::move(name);
  tensors.push_back(std::move(info));
  return TensorId{static_cast<std::uint32_t>(tensors.size()) - 1};
}

inline std::string cache_name(const ComputeDag& dag, const Operation& op,
                              const std::string& scope) {
  std::string base = op.name + (op.outputs.size() > 1 ? ".v0" : "");
  const auto taken = [&](const std::string& name) {
    for (const Operation& other : dag.operations()) {
      if (other.name == name) {
        return true;
      }
    }
    return false;
  };
  while (taken(base + "." + scope)) {
    base += ".d";
  }
  return base + "." + scope;
}

}  // namespace tensorsmith::detail
