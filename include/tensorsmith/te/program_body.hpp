// SPDX-License-Identifier: Apache-2.0
// The definitions of program.hpp.
//
// Floor 2. Included by te/program.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/compute_dag_build.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith::te {

TENSORSMITH_INLINE Tensor Program::placeholder(const std::string& name, const Shape& shape,
                                               DType dtype) {
  Operation op;
  op.kind = OperationKind::placeholder;
  op.name = name;
  return add_operation(std::move(op), shape, {dtype})[0];
}

TENSORSMITH_INLINE ReduceAxis Program::reduce_axis(const std::string& name, std::int64_t extent) {
  require_name("reduce_axis", name);
  require_extent("reduce_axis \"" + name + "\"", extent);
  const VarId var = data_->pool.new_var(name);
  data_->reduce_axes.push_back({var, extent});
  return ReduceAxis(data_.get(), var);
}

TENSORSMITH_INLINE Shared<const ComputeDag>
Program::dag(const std::vector<Tensor>& arguments) const {
  std::vector<TensorId> ids;
  for (const Tensor& tensor : arguments) {
    require_own(tensor);
    if (detail::contains(ids, tensor.id())) {
      detail::misuse("Program::dag", "every tensor once", "\"" + tensor.name() + "\" twice");
    }
    ids.push_back(tensor.id());
  }
  return make_shared_of<const ComputeDag>(
      build_compute_dag(make_shared_of<const ExprPool>(data_->pool), data_->tensors,
                        data_->operations, std::move(ids)));
}

TENSORSMITH_INLINE void Program::require_name(const std::string& where, const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  bool good = !name.empty() && is_letter(name[0]);
  for (char c : name) {
    good = good && (is_letter(c) || (c >= '0' && c <= '9') || c == '.');
  }
  if (!good) {
    detail::misuse(where, "a name of letters, digits and _ that starts with a letter",
                   "\"" + name + "\"");
  }
}

TENSORSMITH_INLINE void Program::require_extent(const std::string& where, std::int64_t extent) {
  if (extent <= 0 || extent > INT32_MAX) {
    detail::misuse(where, "an extent between 1 and 2147483647", std::to_string(extent));
  }
}

TENSORSMITH_INLINE void Program::require_own(const Tensor& tensor) const {
  if (tensor.program() != data_.get()) {
    detail::misuse("Program::dag", "tensors of this program",
                   "\"" + tensor.name() + "\" of another program");
  }
}

TENSORSMITH_INLINE std::vector<Tensor> Program::add_operation(Operation op, const Shape& shape,
                                                              const std::vector<DType>& types) {
  const std::string where = (op.is_placeholder() ? "placeholder" : "compute");
  require_name(where, op.name);
  for (const Operation& other : data_->operations) {
    if (other.name == op.name) {
      detail::misuse(where, "a name that is not taken", "\"" + op.name + "\" again");
    }
  }
  if (shape.size() > max_rank) {
    detail::misuse(where + " \"" + op.name + "\"", "at most 8 dimensions",
                   std::to_string(shape.size()));
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < types.size(); ++i) {
    TensorInfo info;
    info.name = types.size() > 1 ? op.name + ".v" + std::to_string(i) : op.name;
    info.dtype = types[i];
    for (std::int64_t extent : shape) {
      require_extent(where + " \"" + op.name + "\"", extent);
      info.shape.push_back(extent);
    }
    info.operation = static_cast<std::uint32_t>(data_->operations.size());
    info.output_index = static_cast<std::uint32_t>(i);
    op.outputs.push_back(TensorId{static_cast<std::uint32_t>(data_->tensors.size())});
    data_->tensors.push_back(std::move(info));
    tensors.emplace_back(data_.get(), op.outputs.back());
  }
  try {
    check_operation(data_->pool, data_->tensors, op);
  } catch (...) {  // the program stays as it was
    data_->tensors.resize(data_->tensors.size() - types.size());
    throw;
  }
  data_->operations.push_back(std::move(op));
  return tensors;
}

TENSORSMITH_INLINE std::string Program::default_axis_name(std::size_t which) const {
  static constexpr const char* names[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
  for (const char* name : names) {
    bool taken = false;
    for (const auto& axis : data_->reduce_axes) {
      taken = taken || data_->pool.var_name(axis.var) == name;
    }
    if (!taken && which-- == 0) {
      return name;
    }
  }
  return "ax" + std::to_string(which);
}

TENSORSMITH_INLINE Operation Program::new_compute(const std::string& name, const Shape& shape,
                                                  ComputeOptions options) {
  const std::string where = "compute \"" + name + "\"";
  if (!options.axes.empty() && options.axes.size() != shape.size()) {
    detail::misuse(where, std::to_string(shape.size()) + " axis names",
                   std::to_string(options.axes.size()));
  }
  Operation op;
  op.name = name;
  op.tag = std::move(options.tag);
  op.attrs = std::move(options.attrs);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string axis = options.axes.empty() ? default_axis_name(i) : options.axes[i];
    require_name(where, axis);
    require_extent(where, shape[i]);
    op.axes.push_back({data_->pool.new_var(axis), shape[i]});
  }
  return op;
}

TENSORSMITH_INLINE std::vector<Tensor> Program::finish(Operation op, const Shape& shape,
                                                       const std::vector<Expr>& values) {
  std::vector<DType> types;
  for (const Expr& value : values) {
    const Expr body = value.typed(data_.get(), DType::f32, "compute \"" + op.name + "\"");
    op.bodies.push_back(body.id());
    types.push_back(body.dtype());
  }
  if (types.empty()) {
    detail::misuse("compute \"" + op.name + "\"", "at least one body", "none");
  }
  if (const Reduce* reduce = data_->pool.as<Reduce>(op.bodies[0])) {
    for (VarId var : reduce->axes) {
      for (const auto& axis : data_->reduce_axes) {
        if (axis.var == var) {
          op.reduce_axes.push_back({var, axis.extent});
        }
      }
    }
  }
  return add_operation(std::move(op), shape, types);
}

}  // namespace tensorsmith::te
