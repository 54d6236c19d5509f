// SPDX-License-Identifier: Apache-2.0
// FelixStore: what Felix's formulas read of one store, in any kind of numbers.
//
// Floor 5. Felix, ch. 3.2. PlainNumbers are exact at integer points; whatever else offers the same
// functions will do, such as expressions in the variables of a schedule. Not here: the formulas
// (felix_row.hpp), where stores come from (felix_nests.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/arith.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

/// Exact values.
struct PlainNumbers {
  using Number = double;
  using Truth = bool;

  double number(double x) const { return x; }
  bool truth(bool x) const { return x; }
  double add(double x, double y) const { return x + y; }
  double mul(double x, double y) const { return x * y; }
  double div(double x, double y) const { return x / y; }
  double min(double x, double y) const { return x < y ? x : y; }
  double max(double x, double y) const { return x > y ? x : y; }
  double log(double x) const { return math::log(x); }
  double exp(double x) const { return math::exp(x); }
  double select(bool c, double x, double y) const { return c ? x : y; }
  bool above_one(double x) const { return x > 1; }
  bool equal(double x, double y) const { return x == y; }
  bool both(bool x, bool y) const { return x && y; }
  bool either(bool x, bool y) const { return x || y; }
  bool negated(bool x) const { return !x; }
  /// What stands in a row.
  double feature(double x) const { return math::log1p(x); }
  double flag(bool x) const { return x ? 1 : 0; }
};

template <class Number>
struct FelixLoop {
  Number extent;
  Annotation annotation = Annotation::none;
  bool vanishes = false;  ///< where its extent is 1, as in a program; else it is one all the same

  /// A loop over blocks, threads or virtual threads, which is there whatever its extent.
  bool is_grid() const { return is_thread_annotation(annotation); }
};

/// What a store touches of a buffer while a loop and those in it run.
template <class Number>
struct FelixTouch {
  TensorId tensor;
  Number elements;
  double element_bytes = 4;
};

template <class Number>
struct FelixAccess {
  std::string_view name;  ///< of the buffer; slots of a row are in the order of names
  TensorId tensor;
  AccessKind kind = AccessKind::read;
  double element_bytes = 4;
  std::vector<Number> lengths;                 ///< of the buffer, by dimension
  std::vector<bool> uses;                      ///< by loop: its indices have the loop's name
  std::vector<std::optional<Number>> strides;  ///< by loop: elements per iteration, if it counts
};

/// The last store to a buffer.
template <class Number>
struct FelixStore {
  std::vector<FelixLoop<Number>> loops;       ///< outermost first
  std::array<Number, num_op_classes> counts;  ///< per execution
  std::vector<FelixAccess<Number>> accesses;  ///< the stored buffer first
  std::vector<Number> region;                 ///< of the stored buffer, by dimension
  Number auto_unroll_max_step;
  bool is_gpu = false;
};

template <class Number>
struct FelixAllocation {
  Number elements;
  Number outer_prod;  ///< iterations of the loops around it
};

}  // namespace tensorsmith
