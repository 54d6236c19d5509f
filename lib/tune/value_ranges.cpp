// SPDX-License-Identifier: Apache-2.0
#include "tune/value_ranges.hpp"

#include <algorithm>
#include <cmath>

#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith {
namespace {

constexpr double infinity = HUGE_VAL;
constexpr ValueRange anything{-infinity, infinity, true};

ValueRange all_of(DType type) {
  if (is_float(type)) {
    return anything;
  }
  const IntegerLimits limits = limits_of(type);
  return {static_cast<double>(limits.low), static_cast<double>(limits.high), false};
}
bool is_finite(const ValueRange& range) {
  return std::isfinite(range.min) && std::isfinite(range.max) && !range.may_be_nan;
}
ValueRange hull(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max), a.may_be_nan || b.may_be_nan};
}

}  // namespace

ValueRange ValueRanges::operator()(ExprId id) {
  if (const auto found = known_.find(id.value); found != known_.end()) {
    return found->second;
  }
  const ValueRange range = new_range(id);
  known_.emplace(id.value, range);
  return range;
}

ValueRange ValueRanges::new_range(ExprId id) {
  const ExprPool& pool = dag_.pool();
  const DType type = pool.dtype(id);
  const ValueRange whole = all_of(type);
  ValueRange range = whole;
  if (const auto* number = pool.as<FloatImm>(id)) {
    range = {number->value, number->value, std::isnan(number->value)};
  } else if (const auto* integer = pool.as<IntImm>(id)) {
    const auto value = static_cast<double>(integer->value);
    range = {value, value, false};
  } else if (const auto* read = pool.as<TensorRead>(id)) {
    const TensorInfo& tensor = dag_.tensor(read->tensor);
    const Operation& operation = dag_.operation(tensor.operation);
    if (!operation.is_placeholder()) {
      range = (*this)(operation.bodies[tensor.output_index]);
    }
  } else if (const auto* cast = pool.as<Cast>(id)) {
    range = (*this)(cast->a);
  } else if (const auto* select = pool.as<Select>(id)) {
    range = hull((*this)(select->if_true), (*this)(select->if_false));
  } else if (const auto* call = pool.as<Call>(id)) {
    range = of_call(*call);
  } else if (const auto* binary = pool.as<Binary>(id)) {
    range = of_binary(*binary, is_float(type));
  }
  // Integers that leave their type come back at its other end; floats round, outwards at the most
  // to the next number, which a range of whole numbers does not notice.
  const bool is_outside = range.min < whole.min || range.max > whole.max || range.may_be_nan;
  return !is_float(type) && is_outside ? whole : range;
}

ValueRange ValueRanges::of_binary(const Binary& node, bool is_float_type) {
  if (is_comparison(node.op) || node.op == BinaryOp::and_ || node.op == BinaryOp::or_) {
    return {0, 1, false};
  }
  const ValueRange a = (*this)(node.a), b = (*this)(node.b);
  switch (node.op) {
  case BinaryOp::min:  // gives the other operand for NaN
  case BinaryOp::max: {
    const bool is_min = node.op == BinaryOp::min;
    const bool both = a.may_be_nan && b.may_be_nan;
    ValueRange range = is_min ? ValueRange{std::min(a.min, b.min), std::min(a.max, b.max), both}
                              : ValueRange{std::max(a.min, b.min), std::max(a.max, b.max), both};
    if (a.may_be_nan) {
      range = hull(range, {b.min, b.max, both});
    }
    return b.may_be_nan ? hull(range, {a.min, a.max, both}) : range;
  }
  case BinaryOp::add:
  case BinaryOp::sub:
  case BinaryOp::mul: {
    if (!is_finite(a) || !is_finite(b)) {
      return anything;
    }
    if (node.op != BinaryOp::mul) {
      return node.op == BinaryOp::add ? ValueRange{a.min + b.min, a.max + b.max, false}
                                      : ValueRange{a.min - b.max, a.max - b.min, false};
    }
    const double ends[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
    return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4), false};
  }
  case BinaryOp::div:
    if (is_float_type && is_finite(a) && is_finite(b) && (b.min > 0 || b.max < 0)) {
      const double ends[] = {a.min / b.min, a.min / b.max, a.max / b.min, a.max / b.max};
      return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4), false};
    }
    return anything;
  default:
    return anything;
  }
}

ValueRange ValueRanges::of_call(const Call& node) {
  if (node.op == CallOp::if_then_else) {
    return hull((*this)(node.args[1]), (*this)(node.args[2]));
  }
  const ValueRange a = (*this)(node.args[0]);
  switch (node.op) {
  case CallOp::floor:
    return {std::floor(a.min), std::floor(a.max), a.may_be_nan};
  case CallOp::ceil:
    return {std::ceil(a.min), std::ceil(a.max), a.may_be_nan};
  case CallOp::round:
    return {std::nearbyint(a.min), std::nearbyint(a.max), a.may_be_nan};
  case CallOp::abs: {
    const double most = std::max(std::fabs(a.min), std::fabs(a.max));
    return {a.min <= 0 && a.max >= 0 ? 0 : std::min(std::fabs(a.min), std::fabs(a.max)), most,
            a.may_be_nan};
  }
  case CallOp::tanh:
  case CallOp::erf:
    return {-1, 1, a.may_be_nan};
  case CallOp::sigmoid:
    return {0, 1, a.may_be_nan};
  case CallOp::exp:
    return {0, std::exp(a.max) * 1.001, a.may_be_nan};
  default:
    return anything;
  }
}

}  // namespace tensorsmith
