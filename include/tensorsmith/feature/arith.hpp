// SPDX-License-Identifier: Apache-2.0
// OpCounts: how many operations of each class a stored value takes (feature group 1, arithmetic).
//
// Floor 5. Ansor reference, ch. 6.3: those of the simplified value, the indices of its loads
// included. Not here: what the value is (stage_nests.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/ir/algebra/remembered.hpp"

namespace tensorsmith {

/// In the order of columns 0-15.
enum class OpClass : std::uint8_t {
  float_mad,
  float_addsub,
  float_mul,
  float_divmod,
  float_cmp,
  float_mathfunc,
  float_otherfunc,
  int_mad,
  int_addsub,
  int_mul,
  int_divmod,
  int_cmp,
  int_mathfunc,
  int_otherfunc,
  bool_op,
  select_op
};
constexpr std::size_t num_op_classes = 16;

struct OpCounts {
  std::array<double, num_op_classes> count{};

  double& operator[](OpClass c) { return count[static_cast<std::size_t>(c)]; }
  double operator[](OpClass c) const { return count[static_cast<std::size_t>(c)]; }
  void add(const OpCounts& other) {
    for (std::size_t i = 0; i < num_op_classes; ++i) {
      count[i] += other.count[i];
    }
  }
  /// All float columns, calls included.
  double num_float() const {
    double sum = 0;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(OpClass::float_otherfunc); ++i) {
      sum += count[i];
    }
    return sum;
  }
};

/// Counts the operations of expressions, an expression that occurs twice twice, without those for
/// which `is_free(node)` holds.
template <class IsFree>
class CountedOperations {
 public:
  CountedOperations(const algebra::Pool& pool, const IsFree& is_free)
      : pool_(pool), is_free_(is_free) {}

  const OpCounts& operator()(algebra::Ref ref) {
    if (const std::uint32_t* known = place_.find(ref)) {
      return counted_[*known];
    }
    OpCounts counts;
    const algebra::Node& node = pool_[ref];
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      counts.add((*this)(pool_.operand(node, i)));
    }
    if (has_class(node.op) && !is_free_(node)) {
      counts[class_of(node)] += 1;
    }
    place_.set(ref, static_cast<std::uint32_t>(counted_.size()));
    counted_.push_back(counts);
    return counted_.back();
  }

 private:
  static bool has_class(algebra::Op op) {
    return op >= algebra::Op::add && op != algebra::Op::cast && op != algebra::Op::load;
  }
  OpClass class_of(const algebra::Node& node) const {
    const auto by_type = [](DType type, OpClass real, OpClass integer) {
      return is_float(type) ? real : integer;
    };
    switch (node.op) {
    case algebra::Op::and_:
    case algebra::Op::or_:
    case algebra::Op::not_:
      return OpClass::bool_op;
    case algebra::Op::select:
      return OpClass::select_op;
    case algebra::Op::if_then_else:
    case algebra::Op::call:
      return by_type(node.dtype, OpClass::float_mathfunc, OpClass::int_mathfunc);
    default:
      break;
    }
    const DType operand = pool_.dtype(node.a);
    switch (node.op) {
    case algebra::Op::add:
    case algebra::Op::sub:
      return by_type(operand, OpClass::float_addsub, OpClass::int_addsub);
    case algebra::Op::mul:
      return by_type(operand, OpClass::float_mul, OpClass::int_mul);
    case algebra::Op::div:
    case algebra::Op::truncmod:
    case algebra::Op::floordiv:
    case algebra::Op::floormod:
      return by_type(operand, OpClass::float_divmod, OpClass::int_divmod);
    default:
      return by_type(operand, OpClass::float_cmp, OpClass::int_cmp);
    }
  }

  const algebra::Pool& pool_;
  IsFree is_free_;
  algebra::RefMap<std::uint32_t> place_;  ///< in counted_
  std::vector<OpCounts> counted_;
};

struct NothingIsFree {
  bool operator()(const algebra::Node&) const { return false; }
};
class OperationCounter : public CountedOperations<NothingIsFree> {
 public:
  explicit OperationCounter(const algebra::Pool& pool)
      : CountedOperations<NothingIsFree>(pool, {}) {}
};

}  // namespace tensorsmith
