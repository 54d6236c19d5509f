// SPDX-License-Identifier: Apache-2.0
// f64_twin: the same program with every float computed as f64, the reference of all candidates.
//
// Private to lib/ and tests. Own design. Inputs stay as they are and are widened where they are
// read; integers and booleans stay too.
#pragma once

#include <memory>

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// Whether the dag has the tensor at all: of a program's tensors it lists some that none of its
/// arguments needs.
inline bool is_defined(const ComputeDag& dag, const TensorInfo& tensor) {
  return tensor.operation < dag.operations().size();
}
/// Whether the tensor is given to the program, not computed by it.
inline bool is_input(const ComputeDag& dag, const TensorInfo& tensor) {
  return is_defined(dag, tensor) && dag.operation(tensor.operation).is_placeholder();
}

/// The type that the twin computes in instead: f64 for every float.
inline DType widened(DType dtype) { return is_float(dtype) ? DType::f64 : dtype; }

/// Copies expressions of a dag into a pool of its own, floats widened; variables and combiners keep
/// their ids.
class F64Copy {
 public:
  explicit F64Copy(const ComputeDag& dag);
  F64Copy(const F64Copy&) = delete;
  F64Copy& operator=(const F64Copy&) = delete;
  ~F64Copy();
  ExprId operator()(ExprId id);
  const Shared<ExprPool>& pool() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Tensors, axes and variables keep their ids; only the pool is another one. `dag` itself if it has
/// no float narrower than f64.
Shared<const ComputeDag> f64_twin(const Shared<const ComputeDag>& dag);

}  // namespace tensorsmith
