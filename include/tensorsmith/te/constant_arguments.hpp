// SPDX-License-Identifier: Apache-2.0
// constant_arguments: the inputs that do not change from call to call.
//
// Floor 2. Own design; the attribute is that of the Ansor reference, ch. 1.5.
// Not here: what can be computed from them before the first call (sched/prepared.hpp).
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// By argument: whether it is an input that an operation names as layout-free, a constant of the
/// kernel.
inline std::vector<bool> constant_arguments(const ComputeDag& dag) {
  std::vector<bool> is_constant;
  for (TensorId argument : dag.arguments()) {
    const Operation& input = dag.operation(dag.tensor(argument).operation);
    bool is_named = false;
    for (const Operation& op : dag.operations()) {
      for (const std::string& name : op.attrs.layout_free_placeholders) {
        is_named = is_named || (input.is_placeholder() && name == input.name);
      }
    }
    is_constant.push_back(is_named);
  }
  return is_constant;
}

}  // namespace tensorsmith
