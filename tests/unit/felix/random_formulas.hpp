// SPDX-License-Identifier: Apache-2.0
// Random formulas over sizes, and values for their symbols.
//
// Test support. `positive` has no difference, so that logarithms and quotients of it exist; `whole`
// is made of what keeps whole numbers whole.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/felix/formula.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

class RandomFormulas {
 public:
  RandomFormulas(felix::FormulaPool& pool, CounterRng& rng, std::uint32_t num_symbols)
      : pool_(pool), rng_(rng) {
    for (std::uint32_t i = 0; i < num_symbols; ++i) {
      symbols_.push_back(pool.symbol("s" + std::to_string(i) + ":k", felix::SymbolKind::knob));
    }
  }
  felix::FormulaId leaf() {
    return rng_.next_below(3) == 0 ? pool_.number(1 + rng_.next_below(8))
                                   : symbols_[rng_.next_below(count())];
  }
  felix::FormulaId size(int depth) { return pick(depth, {Op::add, Op::mul, Op::min, Op::max}); }
  felix::FormulaId whole(int depth) {
    if (depth > 0 && rng_.next_below(3) == 0) {
      return pool_.make(Op::floordiv, whole(depth - 1), size(depth - 1));
    }
    return size(depth);
  }
  felix::FormulaId positive(int depth) {
    if (depth == 0) {
      return leaf();
    }
    switch (rng_.next_below(5)) {
    case 0:
      return pool_.make(Op::div, positive(depth - 1), positive(depth - 1));
    case 1:
      return pool_.make(Op::pow, pool_.number(2), leaf());
    case 2:
      return pool_.make(Op::log, pool_.make(Op::add, pool_.number(2), positive(depth - 1)));
    case 3:
      return pool_.make(Op::select, condition(depth - 1), positive(depth - 1), positive(depth - 1));
    default:
      return pool_.make(pick_op(), positive(depth - 1), positive(depth - 1));
    }
  }
  felix::FormulaId number(int depth) {
    return rng_.next_below(2) == 0 ? pool_.make(Op::sub, positive(depth), positive(depth))
                                   : positive(depth);
  }
  /// Of sizes, so that a comparison is exact.
  felix::FormulaId condition(int depth) {
    if (depth > 0 && rng_.next_below(2) == 0) {
      const std::uint32_t kind = rng_.next_below(3);
      return kind == 0 ? pool_.make(Op::not_, condition(depth - 1))
                       : pool_.make(kind == 1 ? Op::and_ : Op::or_, condition(depth - 1),
                                    condition(depth - 1));
    }
    const Op op = static_cast<Op>(static_cast<std::uint32_t>(Op::eq) + rng_.next_below(6));
    return pool_.make(op, whole(depth), whole(depth));
  }
  /// Whole numbers of 1 to `most` for all symbols of the pool.
  std::vector<double> values(std::uint32_t most) {
    std::vector<double> found;
    for (std::size_t i = 0; i < pool_.num_symbols(); ++i) {
      found.push_back(1 + rng_.next_below(most));
    }
    return found;
  }

 private:
  using Op = felix::Op;
  std::uint32_t count() const { return static_cast<std::uint32_t>(symbols_.size()); }
  Op pick_op() {
    const Op ops[4] = {Op::add, Op::mul, Op::min, Op::max};
    return ops[rng_.next_below(4)];
  }
  felix::FormulaId pick(int depth, const std::vector<Op>& ops) {
    if (depth == 0) {
      return leaf();
    }
    const Op op = ops[rng_.next_below(static_cast<std::uint32_t>(ops.size()))];
    return pool_.make(op, pick(depth - 1, ops), pick(depth - 1, ops));
  }

  felix::FormulaPool& pool_;
  CounterRng& rng_;
  std::vector<felix::FormulaId> symbols_;
};

}  // namespace tensorsmith::test
