// SPDX-License-Identifier: Apache-2.0
// The definitions of check_operation.hpp.
//
// Floor 2. Included by te/check_operation.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/check_operation.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith::te {

namespace detail {

inline std::string shape_text(const SmallVector<std::int64_t, 6>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

/// The product, or -1 if it leaves 63 bits. Extents are positive.
inline std::int64_t product_or_negative(const SmallVector<std::int64_t, 6>& extents) {
  std::int64_t product = 1;
  for (std::int64_t extent : extents) {
    if (__builtin_mul_overflow(product, extent, &product)) {
      return -1;
    }
  }
  return product;
}

/// Operations on operations on ... of a body: what walks it goes as deep.
constexpr std::uint32_t deepest_body = 2000;
/// Operands and operations of a body as it is written out, without anything shared.
constexpr double longest_body = 65536;

TENSORSMITH_INLINE bool is_deeper_than(const ExprPool& pool, ExprId body, std::uint32_t most) {
  if (body.value < most) {
    return false;  // operands have smaller numbers
  }
  std::vector<std::uint32_t> depths(body.value + 1, 0);  // from the body; 0: not of it
  depths[body.value] = 1;
  for (std::uint32_t value = body.value + 1; value-- > 0;) {
    if (depths[value] > most) {
      return true;
    }
    if (depths[value] == 0) {
      continue;
    }
    for_each_child(pool[ExprId{value}], [&](ExprId child) {
      depths[child.value] =
          depths[child.value] > depths[value] ? depths[child.value] : depths[value] + 1;
    });
  }
  return false;
}

/// Throws Error if a body is too large for what is done with every body.
inline void check_size(const ExprPool& pool, const std::string& where, ExprId body) {
  if (is_deeper_than(pool, body, deepest_body)) {
    throw Error(where + "expected at most " + std::to_string(deepest_body) +
                " operations inside of each other, got more; give parts of it a compute of "
                "their own");
  }
  double length = 0;
  visit_paths(pool, body, [&](ExprId, double paths) { length += paths; });
  if (!(length <= longest_body)) {
    throw Error(where + "expected a formula of at most " +
                std::to_string(static_cast<std::int64_t>(longest_body)) +
                " operands and operations, got more: what is used several times counts as often; "
                "give it a compute of its own");
  }
}

inline void check_body(const ExprPool& pool, const std::vector<TensorInfo>& tensors,
                       const Operation& op, ExprId body) {
  const std::string where = "te: operation \"" + op.name + "\": ";
  check_size(pool, where, body);
  NodeSet seen(body);
  const auto walk = [&](const auto& self, ExprId id) -> void {
    if (!seen.insert(id)) {
      return;
    }
    if (id != body && pool.as<Reduce>(id) != nullptr) {
      throw Error(where + "expected a reduction only at the root of a body, got one inside an "
                          "expression; give it a stage of its own");
    }
    if (const VarRef* ref = pool.as<VarRef>(id)) {
      if (!has_var(op.axes, ref->var) && !has_var(op.reduce_axes, ref->var)) {
        throw Error(where + "expected only its own iterators, got \"" + pool.var_name(ref->var) +
                    "\"");
      }
    }
    if (const TensorRead* read = pool.as<TensorRead>(id)) {
      if (read->tensor.value >= tensors.size()) {
        throw Error(where + "expected tensors of its own program, got a foreign one");
      }
      const TensorInfo& tensor = tensors[read->tensor.value];
      if (tensor.shape.size() != read->indices.size()) {
        throw Error(where + "expected " + std::to_string(tensor.shape.size()) +
                    " indices of tensor \"" + tensor.name + "\" " + shape_text(tensor.shape) +
                    ", got " + std::to_string(read->indices.size()));
      }
    }
    for_each_child(pool[id], [&](ExprId child) { self(self, child); });
  };
  walk(walk, body);
}

}  // namespace detail

TENSORSMITH_INLINE void
check_operation(const ExprPool& pool, const std::vector<TensorInfo>& tensors, const Operation& op) {
  const std::string where = "te: operation \"" + op.name + "\": ";
  SmallVector<std::int64_t, 6> extents;
  std::vector<std::string> names;
  for (const auto* axes : {&op.axes, &op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      const std::string& name = pool.var_name(axis.var);
      if (axis.extent <= 0) {
        throw Error(where + "expected a positive extent of iterator \"" + name + "\", got " +
                    std::to_string(axis.extent));
      }
      if (detail::contains(names, name)) {
        throw Error(where + "expected iterator names that are unique, got \"" + name + "\" twice");
      }
      names.push_back(name);
      extents.push_back(axis.extent);
    }
  }
  for (TensorId output : op.outputs) {
    const TensorInfo& tensor = tensors[output.value];
    for (std::int64_t extent : tensor.shape) {
      if (extent <= 0) {
        throw Error(where + "expected positive extents, got shape " +
                    detail::shape_text(tensor.shape));
      }
    }
    const std::int64_t elements = detail::product_or_negative(tensor.shape);
    if (elements < 0 || elements > INT64_MAX / 8) {
      throw Error(where + "expected a tensor of fewer than 2^60 elements, got shape " +
                  detail::shape_text(tensor.shape));
    }
  }
  if (detail::product_or_negative(extents) < 0) {
    throw Error(where + "expected fewer than 2^63 iterations, got " + detail::shape_text(extents));
  }
  if (op.is_placeholder()) {
    return;
  }
  if (op.bodies.empty() || op.bodies.size() != op.outputs.size()) {
    throw Error(where + "expected one body per output, got " + std::to_string(op.bodies.size()) +
                " for " + std::to_string(op.outputs.size()));
  }
  const Reduce* first = pool.as<Reduce>(op.bodies[0]);
  for (std::size_t i = 0; i < op.bodies.size(); ++i) {
    const Reduce* reduce = pool.as<Reduce>(op.bodies[i]);
    if ((reduce == nullptr) != (first == nullptr) ||
        (reduce != nullptr &&
         (reduce->combiner != first->combiner || !(reduce->axes == first->axes) ||
          !(reduce->sources == first->sources)))) {
      throw Error(where + "expected bodies that share one reduction, got different ones");
    }
    if (pool.dtype(op.bodies[i]) != tensors[op.outputs[i].value].dtype) {
      throw Error(where + "expected a body of type " +
                  std::string(name_of(tensors[op.outputs[i].value].dtype)) + ", got " +
                  std::string(name_of(pool.dtype(op.bodies[i]))));
    }
    detail::check_body(pool, tensors, op, op.bodies[i]);
  }
}

}  // namespace tensorsmith::te
