// SPDX-License-Identifier: Apache-2.0
// Functions of angles and their inverses, element by element, by the formulas of te/functions.hpp.
#include "graph/operators.hpp"
#include "tensorsmith/te/functions.hpp"

namespace tensorsmith::graph {
namespace {

void same(Inference& in) { in.set(in.dtype(0), in.shape(0)); }

template <te::Expr (*f)(const te::Expr&)>
OperatorRow row(std::string_view op) {
  return computed_row(op, Pattern::elementwise, same, [](Emitter& e) {
    const DType type = e.result_type();
    e.define([&](const Indices& at) { return te::cast(type, f(e.read(0, at))); });
  });
}

}  // namespace

std::vector<OperatorRow> function_rows() {
  return {row<te::sin>("Sin"),     row<te::cos>("Cos"),    row<te::tan>("Tan"),
          row<te::asin>("Asin"),   row<te::acos>("Acos"),  row<te::atan>("Atan"),
          row<te::sinh>("Sinh"),   row<te::cosh>("Cosh"),  row<te::asinh>("Asinh"),
          row<te::acosh>("Acosh"), row<te::atanh>("Atanh")};
}

}  // namespace tensorsmith::graph
