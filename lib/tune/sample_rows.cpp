// SPDX-License-Identifier: Apache-2.0
#include "tune/sample_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tune/f64_twin.hpp"

namespace tensorsmith {
namespace {

/// A function of f64 is called lane by lane, which takes as long as so many additions.
constexpr double points_per_call = 32;

/// The one operation whose tensors are results, nothing if there are several results.
std::optional<std::uint32_t> result_of(const ComputeDag& dag) {
  std::optional<std::uint32_t> result;
  for (const TensorId id : dag.arguments()) {
    const TensorInfo& tensor = dag.tensor(id);
    if (!is_input(dag, tensor)) {
      if (result || dag.operation(tensor.operation).outputs.size() != 1) {
        return std::nullopt;
      }
      result = tensor.operation;
    }
  }
  return result;
}

class Sampler {
 public:
  /// `rows` along an axis of the result.
  Sampler(const ComputeDag& dag, std::uint32_t result, std::size_t axis, const RowSample& rows)
      : dag_(dag), rows_(rows), axes_(dag.operations().size()),
        pool_(make_shared_of<ExprPool>(dag.pool())) {
    axes_[result] = axis;
    for (std::uint32_t id = result; id-- > 0;) {  // consumers before producers
      axes_[id] = axis_of(id);
    }
  }

  Shared<const ComputeDag> sampled() {
    std::vector<TensorInfo> tensors = dag_.tensors();
    std::vector<Operation> operations = dag_.operations();
    for (std::size_t id = 0; id < operations.size(); ++id) {
      Operation& operation = operations[id];
      if (!axes_[id]) {
        continue;
      }
      for (const TensorId tensor : operation.outputs) {
        tensors[tensor.value].shape[*axes_[id]] = rows_.count;
      }
      if (operation.is_placeholder()) {
        continue;
      }
      Axis& axis = operation.axes[*axes_[id]];
      axis.extent = rows_.count;
      for (ExprId& body : operation.bodies) {
        body = rewrite(body, axis.var);
      }
      operation.attrs.flop = -1;
    }
    return make_shared_of<const ComputeDag>(pool_, std::move(tensors), std::move(operations),
                                            dag_.arguments());
  }

  RowSample rows_of(TensorId id) const {
    const TensorInfo& tensor = dag_.tensor(id);
    RowSample rows;
    if (const std::optional<std::size_t> axis = axes_[tensor.operation]) {
      rows = rows_;
      rows.inner = 1;
      for (std::size_t i = *axis + 1; i < tensor.shape.size(); ++i) {
        rows.inner *= tensor.shape[i];
      }
    }
    return rows;
  }

 private:
  /// The axis of an operation that all who read it move with their own restricted axis.
  std::optional<std::size_t> axis_of(std::uint32_t id) const {
    std::optional<std::size_t> axis;
    bool is_plain = true;
    for (std::uint32_t reader = id + 1; reader < axes_.size(); ++reader) {
      for (const ExprId body : dag_.operation(reader).bodies) {
        visit_nodes(dag_.pool(), body, [&](ExprId expr) {
          const TensorRead* read = dag_.pool().as<TensorRead>(expr);
          if (read == nullptr || dag_.tensor(read->tensor).operation != id) {
            return;
          }
          const std::optional<std::size_t> place = plain_place(*read, reader);
          is_plain = is_plain && place && (!axis || *axis == *place);
          axis = place;
        });
      }
    }
    return is_plain ? axis : std::nullopt;
  }

  /// The one index that is the reader's restricted axis itself.
  std::optional<std::size_t> plain_place(const TensorRead& read, std::uint32_t reader) const {
    if (!axes_[reader]) {
      return std::nullopt;
    }
    const VarId var = dag_.operation(reader).axes[*axes_[reader]].var;
    std::optional<std::size_t> place;
    for (std::size_t i = 0; i < read.indices.size(); ++i) {
      if (uses_var(dag_.pool(), read.indices[i], var)) {
        const VarRef* plain = dag_.pool().as<VarRef>(read.indices[i]);
        if (plain == nullptr || place) {
          return std::nullopt;
        }
        place = i;
      }
    }
    return place;
  }

  ExprId rewrite(ExprId id, VarId var) {
    if (const VarRef* ref = pool_->as<VarRef>(id)) {
      const DType type = pool_->dtype(id);
      return ref->var != var ? id
                             : pool_->add(pool_->mul(id, pool_->int_imm(rows_.stride, type)),
                                          pool_->int_imm(rows_.first, type));
    }
    std::optional<std::size_t> kept;  // an index of a restricted tensor
    if (const TensorRead* read = pool_->as<TensorRead>(id)) {
      kept = axes_[dag_.tensor(read->tensor).operation];
    }
    std::size_t place = 0;
    return map_children(*pool_, id, [&](ExprId child) {
      return kept && place++ == *kept ? child : rewrite(child, var);
    });
  }

  const ComputeDag& dag_;
  const RowSample rows_;
  std::vector<std::optional<std::size_t>> axes_;  ///< the restricted one of each operation
  Shared<ExprPool> pool_;
};

/// An odd stride from `least` to twice of it, by which the first row is one of them too if there is
/// such a stride.
RowSample spaced_rows(std::int64_t extent, std::int64_t least) {
  RowSample rows;
  rows.extent = extent;
  rows.stride = least | 1;
  for (std::int64_t stride = rows.stride; stride < 2 * least; stride += 2) {
    if ((extent - 1) % stride == 0) {
      rows.stride = stride;
      break;
    }
  }
  rows.first = (extent - 1) % rows.stride;
  rows.count = (extent - 1) / rows.stride + 1;
  return rows;
}

}  // namespace

double count_points(const ComputeDag& dag) {
  double sum = 0;
  for (const Operation& operation : dag.operations()) {
    double points = operation.is_placeholder() ? 0 : 1;
    for (const ExprId body : operation.bodies) {
      visit_expr(dag.pool(), body, [&](ExprId id) {
        const Call* call = dag.pool().as<Call>(id);
        points += call != nullptr && call->op != CallOp::if_then_else ? points_per_call : 0;
      });
    }
    for (const std::vector<Axis>* axes : {&operation.axes, &operation.reduce_axes}) {
      for (const Axis& axis : *axes) {
        points *= static_cast<double>(axis.extent);
      }
    }
    sum += points;
  }
  return sum;
}

std::optional<SampledRows> sample_rows(const ComputeDag& dag, double most_points) {
  const double whole = count_points(dag);
  const std::optional<std::uint32_t> result = result_of(dag);
  if (!(whole > most_points) || !(most_points > 0) || !result) {
    return std::nullopt;
  }
  std::optional<SampledRows> best;
  double least = whole / 2;
  const std::vector<Axis>& axes = dag.operation(*result).axes;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const double stride = std::min(std::ceil(whole / most_points), 1e9);
    Sampler sampler(dag, *result, axis,
                    spaced_rows(axes[axis].extent, static_cast<std::int64_t>(stride)));
    SampledRows rows;
    rows.dag = sampler.sampled();
    if (const double points = count_points(*rows.dag); points < least) {
      least = points;
      for (const TensorId id : dag.arguments()) {
        rows.arguments.push_back(sampler.rows_of(id));
      }
      best = std::move(rows);
    }
  }
  return best;
}

}  // namespace tensorsmith
