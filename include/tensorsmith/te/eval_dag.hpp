// SPDX-License-Identifier: Apache-2.0
// The interpreter of dags: every operation as it is written, point by point. The oracle of
// everything.
//
// Floor 2. Own design: a walk over the expressions, each once at a point, and nothing else. Not
// here: speed.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/eval_error.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct EvalDagOptions {
  /// All float arithmetic inside a body in f64, rounded when an element is stored.
  bool wide = false;
};

/// All tensors by TensorId (empty where no operation defines one). `inputs`: the placeholders among
/// the dag's arguments, in their order. In errors, `buffer` is the number of the tensor.
TENSORSMITH_INLINE Result<std::vector<HostArray>, EvalError>
eval_dag_tensors(const ComputeDag& dag, const std::vector<HostArray>& inputs,
                 const EvalDagOptions& options = {});

/// The outputs: the arguments that are not placeholders, in their order.
inline Result<std::vector<HostArray>, EvalError> eval_dag(const ComputeDag& dag,
                                                          const std::vector<HostArray>& inputs,
                                                          const EvalDagOptions& options = {}) {
  auto tensors = eval_dag_tensors(dag, inputs, options);
  if (!tensors) {
    return tensors;
  }
  std::vector<HostArray> outputs;
  for (TensorId id : dag.arguments()) {
    if (!dag.operation(dag.tensor(id).operation).is_placeholder()) {
      outputs.push_back(std::move((*tensors)[id.value]));
    }
  }
  return outputs;
}

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/eval_dag_body.hpp"
#endif
