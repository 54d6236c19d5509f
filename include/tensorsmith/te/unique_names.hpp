// SPDX-License-Identifier: Apache-2.0
// with_unique_names: a dag whose operations have one name each, so that its notation can be read.
//
// Floor 2. The reference's networks may call two operations of one function alike ("T_add").
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

/// Computed operations get "_1", "_2" .. behind a name that an earlier one has; stages and
/// arguments keep their order, so steps of either apply to both.
inline Shared<const ComputeDag> with_unique_names(const Shared<const ComputeDag>& dag) {
  std::vector<Operation> operations = dag->operations();
  std::vector<TensorInfo> tensors = dag->tensors();
  std::vector<std::string> taken;
  bool is_changed = false;
  for (const Operation& operation : operations) {
    if (operation.is_placeholder()) {
      taken.push_back(operation.name);  // attributes know these by name
    }
  }
  for (Operation& operation : operations) {
    if (operation.is_placeholder()) {
      continue;
    }
    const std::string own = operation.name;
    for (int number = 1; has_item(taken, operation.name); ++number) {
      operation.name = own + "_" + std::to_string(number);
    }
    taken.push_back(operation.name);
    if (operation.name != own) {
      is_changed = true;
      for (const TensorId output : operation.outputs) {
        std::string& name = tensors[output.value].name;
        name = operation.name + name.substr(name.starts_with(own) ? own.size() : name.size());
      }
    }
  }
  return is_changed ? make_shared_of<const ComputeDag>(dag->pool_ptr(), std::move(tensors),
                                                       std::move(operations), dag->arguments())
                    : dag;
}

}  // namespace tensorsmith::te
