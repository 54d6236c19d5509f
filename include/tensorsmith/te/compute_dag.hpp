// SPDX-License-Identifier: Apache-2.0
// ComputeDag: the operations of a workload in stage order, with their tensors.
//
// Floor 2. Ansor reference, ch. 1.1 (nodes and order). Immutable once built; derived dags (after
// cache_read, cache_write, rfactor) are new values that stand on the same or a layered pool.
// Not here: analysis (te/access_analysis.hpp), construction by people (te/program.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// An iteration axis of an operation: [min, min + extent). `min` is 0 in every workload.
struct Axis {
  VarId var;
  std::int64_t extent = 0;
  bool operator==(const Axis&) const = default;
};

enum class OperationKind : std::uint8_t { placeholder, compute };

/// Attributes that steer a search (Ansor reference, ch. 1.5). Empty means absent.
struct OperationAttrs {
  std::int64_t flop = -1;  ///< absent if negative: the expressions are counted
  /// Inputs that do not change from call to call (weights): what depends on them alone may be
  /// computed, and laid out, before the first one.
  std::vector<std::string> layout_free_placeholders;
  std::vector<std::string> simplify_const_tensor_indices;
  std::vector<std::string> always_unroll_inner;
  std::vector<std::string> no_split_at_inner;
  bool const_matrix = false, never_inline = false;  ///< the latter: computed once for all readers
  double rounding = 1;  ///< how many times the rounding of the longest sum the result has
  std::string task_scheduler_tag;
  bool operator==(const OperationAttrs&) const = default;
};

struct Operation {
  OperationKind kind = OperationKind::compute;
  std::string name;
  std::string tag;
  OperationAttrs attrs;
  std::vector<Axis> axes;         ///< spatial, one per output dimension
  std::vector<Axis> reduce_axes;  ///< empty if the bodies are not reductions
  std::vector<ExprId> bodies;     ///< one per output; empty for a placeholder
  std::vector<TensorId> outputs;  ///< the tensors it defines, one per body (one for a placeholder)

  bool is_placeholder() const { return kind == OperationKind::placeholder; }
  /// Of axis number `axis`, spatial ones first; none below 0.
  VarId axis_var(std::int32_t axis) const {
    const auto a = static_cast<std::size_t>(axis);
    return axis < 0 ? VarId{} : a < axes.size() ? axes[a].var : reduce_axes[a - axes.size()].var;
  }
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  SmallVector<std::int64_t, 6> shape;
  std::uint32_t operation = 0;     ///< index into operations(): the stage id
  std::uint32_t output_index = 0;  ///< which output of that operation
};

class ComputeDag {
 public:
  /// `operations` in stage order (producers first, Ansor reference ch. 1.1), `arguments`: the
  /// tensors list in the user's order = argument order of the kernel.
  ComputeDag(Shared<const ExprPool> pool, std::vector<TensorInfo> tensors,
             std::vector<Operation> operations, std::vector<TensorId> arguments)
      : pool_(std::move(pool)), tensors_(std::move(tensors)), operations_(std::move(operations)),
        arguments_(std::move(arguments)) {
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
      for (std::uint32_t k = 0; k < operations_[i].outputs.size(); ++k) {
        tensors_[operations_[i].outputs[k].value].operation = i;
        tensors_[operations_[i].outputs[k].value].output_index = k;
      }
    }
  }

  const ExprPool& pool() const { return *pool_; }
  const Shared<const ExprPool>& pool_ptr() const { return pool_; }
  const std::vector<Operation>& operations() const { return operations_; }
  const Operation& operation(std::size_t stage) const { return operations_[stage]; }
  const TensorInfo& tensor(TensorId id) const { return tensors_[id.value]; }
  /// All tensors; ids of tensors that no operation defines any more may be among them.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const std::vector<TensorId>& arguments() const { return arguments_; }

 private:
  Shared<const ExprPool> pool_;
  std::vector<TensorInfo> tensors_;
  std::vector<Operation> operations_;
  std::vector<TensorId> arguments_;
};

}  // namespace tensorsmith
