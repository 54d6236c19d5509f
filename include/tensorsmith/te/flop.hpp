// SPDX-License-Identifier: Apache-2.0
// FLOP count of a dag.
//
// Floor 2. Ansor reference, ch. 1.3, with its oddities: calls are free, only operations whose
// operand has the type code of the output count, a reduction with n outputs is counted n times.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

namespace detail {

/// int, uint, float, bfloat: the bit width is ignored; bool is an unsigned integer of one bit.
enum class TypeCode : std::uint8_t { integer, unsigned_integer, floating, bfloat };
inline TypeCode type_code(DType type) {
  switch (type) {
  case DType::bf16:
    return TypeCode::bfloat;
  case DType::f64:
  case DType::f32:
  case DType::f16:
    return TypeCode::floating;
  case DType::u8:
  case DType::boolean:
    return TypeCode::unsigned_integer;
  default:
    return TypeCode::integer;
  }
}

/// Cost of one evaluation; shared nodes are computed once and counted per occurrence.
class FlopCounter {
 public:
  FlopCounter(const ExprPool& pool, const std::vector<Axis>& reduce_axes, TypeCode code)
      : pool_(pool), reduce_axes_(reduce_axes), code_(code) {}

  double operator()(ExprId id) {
    if (id.value >= known_.size()) {
      known_.resize(id.value + 1, -1.0);
    }
    if (known_[id.value] < 0) {
      const double cost = compute(id);
      known_[id.value] = cost;
    }
    return known_[id.value];
  }

 private:
  double counts(DType type) const { return type_code(type) == code_ ? 1.0 : 0.0; }
  double compute(ExprId id) {
    const ExprNode& node = pool_[id];
    return std::visit(
        Overloaded{[](const IntImm&) { return 0.0; }, [](const FloatImm&) { return 0.0; },
                   [](const VarRef&) { return 0.0; }, [](const TensorRead&) { return 0.0; },
                   [](const Load&) { return 0.0; },
                   [&](const Unary& n) { return counts(node.dtype) + (*this)(n.a); },
                   [&](const Binary& n) {
                     const bool either = counts(pool_.dtype(n.a)) + counts(pool_.dtype(n.b)) > 0;
                     return (either ? 1.0 : 0.0) + (*this)(n.a) + (*this)(n.b);
                   },
                   [&](const Select& n) {
                     const double a = (*this)(n.if_true), b = (*this)(n.if_false);
                     return (*this)(n.condition) + (a > b ? a : b);
                   },
                   [&](const Cast& n) { return (*this)(n.a); },
                   [&](const Call& n) {
                     double sum = 0;
                     for (ExprId arg : n.args) {
                       sum += (*this)(arg);
                     }
                     return sum;
                   },
                   [&](const Reduce& n) {
                     double product = 1, sum = 0;
                     for (const Axis& axis : reduce_axes_) {
                       product *= static_cast<double>(axis.extent);
                     }
                     for (ExprId result : pool_.combiner(n.combiner).results) {
                       sum += (*this)(result);
                     }
                     for (ExprId source : n.sources) {
                       sum += (*this)(source);
                     }
                     return product * sum;
                   }},
        node.op);
  }

  const ExprPool& pool_;
  const std::vector<Axis>& reduce_axes_;
  TypeCode code_;
  std::vector<double> known_;
};

}  // namespace detail

/// FLOPs of one operation: its attribute `flop` if set.
inline double count_flop(const ComputeDag& dag, const Operation& op) {
  if (op.is_placeholder()) {
    return 0;
  }
  if (op.attrs.flop >= 0) {
    return static_cast<double>(op.attrs.flop);
  }
  detail::FlopCounter counter(dag.pool(), op.reduce_axes,
                              detail::type_code(dag.tensor(op.outputs[0]).dtype));
  double elements = 1, cost = 0;
  for (const Axis& axis : op.axes) {
    elements *= static_cast<double>(axis.extent);
  }
  for (ExprId body : op.bodies) {
    cost += counter(body);
  }
  return elements * cost;
}
inline double count_flop(const ComputeDag& dag) {
  double sum = 0;
  for (const Operation& op : dag.operations()) {
    sum += count_flop(dag, op);
  }
  return sum;
}

}  // namespace tensorsmith::te
