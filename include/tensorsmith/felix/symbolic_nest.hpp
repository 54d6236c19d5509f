// SPDX-License-Identifier: Apache-2.0
// SymbolicNest: a program as a list of stores whose loops and indices are formulas over sizes.
//
// Floor 6.5. Felix, ch. 2.3 and 3.1. A loop is a symbol that runs from 0 to its extent; loops of
// one name, as those over one kind of thread, are one symbol. An index is a formula over such
// symbols and sizes. Ranges follow the reference's rules: sums, products, minima and maxima go by
// both ends, differences and quotients cross them, a rest runs up to its divisor. Not here: the
// formulas of rows (symbolic_rows.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/feature/felix_store.hpp"
#include "tensorsmith/felix/formula_numbers.hpp"

namespace tensorsmith::felix {

struct SymbolicLoop {
  FormulaId var;  ///< a symbol
  FormulaId extent;
  Annotation annotation = Annotation::none;
  bool vanishes = false;  ///< where its extent is 1
};

struct SymbolicAccess {
  TensorId tensor;
  AccessKind kind = AccessKind::read;
  std::vector<std::vector<FormulaId>> places;  ///< indices, by dimension, at each place
};

struct SymbolicStore {
  TensorId tensor;
  std::vector<std::uint32_t> loops;  ///< in SymbolicNest::loops, outermost first
  std::array<FormulaId, num_op_classes> counts;
  std::vector<SymbolicAccess> accesses;  ///< the stored buffer first
  FormulaId auto_unroll_max_step;
};

struct SymbolicBuffer {
  std::string name;
  std::vector<FormulaId> lengths;
  double element_bytes = 4;
  FeatureScope scope = FeatureScope::global;
  FormulaId elements;                 ///< allocated; not valid: no allocation, an input
  std::vector<std::uint32_t> around;  ///< loops around the allocation
};

struct SymbolicNest {
  std::vector<SymbolicLoop> loops;
  std::vector<SymbolicBuffer> buffers;  ///< by number of the tensor
  std::vector<SymbolicStore> stores;
  bool is_gpu = false;
};

struct FormulaRange {
  FormulaId min, max;
};

/// Ranges of indices, where loops have the range that they are bound to.
class FormulaRanges {
 public:
  explicit FormulaRanges(FormulaPool& pool) : pool_(pool), n_(pool) {}

  void bind(FormulaId var, FormulaRange range) {
    if (var.value >= bound_.size()) {
      bound_.resize(var.value + 1);
    }
    bound_[var.value] = range;
    known_.clear();
  }
  /// From 0 to an extent.
  void bind_loop(FormulaId var, FormulaId extent) {
    bind(var, {n_.number(0), n_.sub(extent, n_.number(1))});
  }

  FormulaRange operator()(FormulaId id) {
    if (id.value >= known_.size()) {
      known_.resize(pool_.size());
    }
    if (known_[id.value].min.valid()) {
      return known_[id.value];
    }
    const FormulaRange range = find(id);
    if (id.value >= known_.size()) {
      known_.resize(pool_.size());
    }
    known_[id.value] = range;
    return range;
  }
  FormulaId width(FormulaId id) {
    const FormulaRange range = (*this)(id);
    return range.min == range.max ? n_.number(1)
                                  : n_.add(n_.sub(range.max, range.min), n_.number(1));
  }

 private:
  FormulaRange find(FormulaId id) {
    const FormulaNode node = pool_[id];
    if (id.value < bound_.size() && bound_[id.value].min.valid()) {
      return bound_[id.value];
    }
    if (arity_of(node.op) == 0) {
      return {id, id};  // a size
    }
    const FormulaRange a = (*this)(FormulaId{node.args[0]});
    const FormulaRange b = arity_of(node.op) > 1 ? (*this)(FormulaId{node.args[1]}) : a;
    const FormulaId zero = n_.number(0);
    switch (node.op) {
    case Op::sub:
    case Op::floordiv:
    case Op::div:
      return {fold(pool_, node.op, a.min, b.max), fold(pool_, node.op, a.max, b.min)};
    case Op::mod:
      return a.min == zero && a.max == zero ? a : FormulaRange{zero, n_.sub(b.max, n_.number(1))};
    default:
      return {fold(pool_, node.op, a.min, b.min), fold(pool_, node.op, a.max, b.max)};
    }
  }

  FormulaPool& pool_;
  FormulaNumbers n_;
  std::vector<FormulaRange> bound_, known_;  // by formula
};

}  // namespace tensorsmith::felix
