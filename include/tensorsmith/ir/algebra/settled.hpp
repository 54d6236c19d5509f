// SPDX-License-Identifier: Apache-2.0
// Settled: whether simplifying what is canonical would give it again.
//
// Floor 1. Own design. Nearly all that is simplified is an index, and nearly all indices are sums
// of parts of variables of which no two are of one variable. No rule says anything of such a sum
// but that two terms have a common factor, which the canonical form takes apart again; so it need
// not be asked. The same is true of loads at such indices and of arithmetic with them. `false`
// says nothing. Not here: how expressions become canonical (canonical.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/bounds.hpp"
#include "tensorsmith/ir/algebra/modular.hpp"

namespace tensorsmith::algebra {

class Settled {
 public:
  /// `value_of_var`: by number, no_ref or nothing where it is not known.
  Settled(Pool& pool, const Bounds& bounds, const ModularSets& modular,
          const std::vector<Ref>& value_of_var)
      : pool_(pool), bounds_(bounds), modular_(modular), value_of_var_(value_of_var) {}

  /// Of what the canonical simplifier gave.
  bool operator()(Ref ref) {
    if (most_nodes_-- == 0) {
      return false;
    }
    const Node node = pool_[ref];
    if (node.op == Op::integer || node.op == Op::real) {
      return true;
    }
    if (is_index(node.dtype) && node.op != Op::load && node.op != Op::call) {
      return is_sum(ref);
    }
    switch (node.op) {
    case Op::load:
    case Op::call:
      for (std::size_t i = 0; i < node.num_operands; ++i) {
        if (!(*this)(pool_.operand(node, i))) {
          return false;
        }
      }
      return true;
    default:
      return is_float(node.dtype) && is_arithmetic(node);
    }
  }

 private:
  /// A part of a variable in a sum: var % upper // lower * scale.
  struct Term {
    std::int64_t var = -1, scale = 1, lower = 1, upper = unlimited;
  };

  bool is_arithmetic(const Node& node) {
    if (node.op == Op::cast) {
      return pool_[node.a].op != Op::integer && pool_[node.a].op != Op::real && (*this)(node.a);
    }
    if (node.op < Op::add || node.op > Op::max || pool_.fold(node.op, node.a, node.b) != no_ref) {
      return false;
    }
    const Op a = pool_[node.a].op, b = pool_[node.b].op;
    const bool has_rules = node.op == Op::sub   ? node.a == node.b || a == Op::add || b == Op::add
                           : node.op == Op::div ? pool_.is_real(node.b)
                                                : false;
    return !has_rules && (*this)(node.a) && (*this)(node.b);
  }

  /// Terms in the order in which sums are written, then what is added to them.
  bool is_sum(Ref ref) {
    const DType type = pool_.dtype(ref);
    const Node root = pool_[ref];
    if (root.op == Op::add && pool_.is_integer(root.b)) {
      if (pool_.dtype(root.b) != type || pool_.value(root.b) <= 0) {
        return false;
      }
      ref = root.a;
    }
    Term terms[most_terms];  // the last one first
    for (std::size_t count = 0; count < most_terms; ++count) {
      const Node node = pool_[ref];
      const bool is_last = node.op != Op::add;
      Term& term = terms[count];
      if (!read(is_last ? ref : node.b, type, term)) {
        return false;
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (terms[i].var == term.var) {
          return false;
        }
      }
      if (count > 0 && !is_written_after(terms[count - 1], term)) {
        return false;
      }
      if (is_last) {
        return true;
      }
      ref = node.a;
    }
    return false;
  }
  static bool is_written_after(const Term& later, const Term& term) {
    return later.scale != term.scale   ? later.scale < term.scale
           : later.lower != term.lower ? later.lower < term.lower
                                       : later.upper <= term.upper;
  }
  bool read(Ref ref, DType type, Term& term) {
    const auto take = [&](Op op, std::int64_t& constant) {
      const Node& node = pool_[ref];
      if (node.op == op && pool_.is_integer(node.b) && pool_.dtype(node.b) == type &&
          pool_.value(node.b) > 1) {
        constant = pool_.value(node.b);
        ref = node.a;
      }
    };
    take(Op::mul, term.scale);
    take(Op::floordiv, term.lower);
    const Ref quotient_of = ref;
    take(Op::floormod, term.upper);
    const Node& var = pool_[ref];
    if (var.op != Op::var || var.dtype != type) {
      return false;
    }
    term.var = var.value;
    const auto number = static_cast<std::size_t>(term.var);
    if (number < value_of_var_.size() && value_of_var_[number] != no_ref) {
      return false;
    }
    // Nothing is known by which a division would vanish.
    return (term.lower == 1 || !is_within(quotient_of, term.lower)) &&
           (term.upper == unlimited ||
            (!is_within(ref, term.upper) && term.upper % term.lower == 0 &&
             modular_(ref).coefficient == 1));
  }
  bool is_within(Ref ref, std::int64_t end) const {
    const Bound bound = bounds_(ref);
    return bound.min >= 0 && bound.max < end;
  }

  static constexpr std::size_t most_terms = 12;
  Pool& pool_;
  const Bounds& bounds_;
  const ModularSets& modular_;
  const std::vector<Ref>& value_of_var_;
  std::size_t most_nodes_ = 256;  ///< that are looked at: parts may come again and again
};

}  // namespace tensorsmith::algebra
