// OpCounts: how many operations of each class a stored value takes (feature group 1, arithmetic).
//
// Floor 5. Ansor reference, ch. 6.3. Index arithmetic of loads counts as printed by a simplifier:
// one multiplication per coefficient that is not 1, one addition between terms.
// Not here: walking the bodies (store_program.hpp).
#pragma once

#include <array>
#include <cstddef>

#include "tensorsmith/feature/index_atoms.hpp"
#include "tensorsmith/ir/expr.hpp"

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

/// The class of a binary operation whose left operand has `operand` type.
inline OpClass op_class(BinaryOp op, DType operand) {
  const bool f = is_float(operand);
  switch (op) {
  case BinaryOp::add:
  case BinaryOp::sub:
    return f ? OpClass::float_addsub : OpClass::int_addsub;
  case BinaryOp::mul:
    return f ? OpClass::float_mul : OpClass::int_mul;
  case BinaryOp::div:
  case BinaryOp::truncmod:
  case BinaryOp::floordiv:
  case BinaryOp::floormod:
    return f ? OpClass::float_divmod : OpClass::int_divmod;
  case BinaryOp::and_:
  case BinaryOp::or_:
    return OpClass::bool_op;
  default:
    return f ? OpClass::float_cmp : OpClass::int_cmp;
  }
}

/// Adds the operations of an index.
inline void count_form(const IndexAtoms& atoms, const IndexForm& form, OpCounts& counts) {
  std::size_t parts = form.constant != 0 ? 1 : 0;
  for (const IndexTerm& term : form.terms) {
    ++parts;
    if (term.coefficient != 1 && term.coefficient != -1) {
      counts[OpClass::int_mul] += 1;
    }
    const IndexAtom& atom = atoms[term.atom];
    if (atom.kind == AtomKind::loop) {
      continue;
    }
    count_form(atoms, atom.a, counts);
    if (atom.kind == AtomKind::floordiv || atom.kind == AtomKind::floormod) {
      counts[OpClass::int_divmod] += 1;
    } else {
      count_form(atoms, atom.b, counts);
      const bool divides = atom.kind == AtomKind::div_by || atom.kind == AtomKind::mod_by;
      const bool compares = atom.kind == AtomKind::min || atom.kind == AtomKind::max;
      counts[OpClass::int_divmod] += divides ? 1 : 0;
      counts[OpClass::int_mul] += atom.kind == AtomKind::product ? 1 : 0;
      counts[OpClass::int_cmp] += compares ? 1 : 0;
    }
  }
  counts[OpClass::int_addsub] += parts > 1 ? static_cast<double>(parts - 1) : 0.0;
}

}  // namespace tensorsmith
