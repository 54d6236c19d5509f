// SPDX-License-Identifier: Apache-2.0
// FormulaNumbers: the numbers of Felix's rows (feature/felix_row.hpp) as formulas.
//
// Floor 6.5. The extractor's formulas are written once for all kinds of numbers; with these they
// make formulas over the sizes of a schedule, of which the exact values are those of the concrete
// extractor.
#pragma once

#include "tensorsmith/felix/substitute.hpp"

namespace tensorsmith::felix {

class FormulaNumbers {
 public:
  using Number = FormulaId;
  using Truth = FormulaId;

  explicit FormulaNumbers(FormulaPool& pool) : pool_(&pool) {}

  Number number(double x) const { return pool_->number(x); }
  Truth truth(bool x) const { return pool_->truth(x); }
  Number add(Number x, Number y) const { return fold(*pool_, Op::add, x, y); }
  Number sub(Number x, Number y) const { return fold(*pool_, Op::sub, x, y); }
  Number mul(Number x, Number y) const { return fold(*pool_, Op::mul, x, y); }
  Number div(Number x, Number y) const { return fold(*pool_, Op::div, x, y); }
  Number floordiv(Number x, Number y) const { return fold(*pool_, Op::floordiv, x, y); }
  Number min(Number x, Number y) const { return fold(*pool_, Op::min, x, y); }
  Number max(Number x, Number y) const { return fold(*pool_, Op::max, x, y); }
  Number log(Number x) const { return fold(*pool_, Op::log, x); }
  Number exp(Number x) const { return fold(*pool_, Op::exp, x); }
  Number select(Truth c, Number x, Number y) const { return fold(*pool_, Op::select, c, x, y); }
  Truth above_one(Number x) const { return fold(*pool_, Op::lt, number(1), x); }
  Truth equal(Number x, Number y) const {
    return x == y ? truth(true) : fold(*pool_, Op::eq, x, y);
  }
  Truth both(Truth x, Truth y) const { return fold(*pool_, Op::and_, x, y); }
  Truth either(Truth x, Truth y) const { return fold(*pool_, Op::or_, x, y); }
  Truth negated(Truth x) const { return fold(*pool_, Op::not_, x); }
  Number feature(Number x) const { return log(add(number(1), x)); }
  Number flag(Truth x) const { return select(x, number(1), number(0)); }

 private:
  FormulaPool* pool_;
};

}  // namespace tensorsmith::felix
