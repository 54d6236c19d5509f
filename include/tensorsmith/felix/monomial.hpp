// SPDX-License-Identifier: Apache-2.0
// log_monomial(): formulas whose logarithm is linear in the logarithms of symbols.
//
// Floor 6.5.
#pragma once

#include <optional>
#include <vector>

#include "tensorsmith/felix/formula.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith::felix {

/// c x1^e1 x2^e2 ...: ln c / ln 2 and the exponents.
struct LogMonomial {
  double log2_factor = 0;
  std::vector<double> exponents;  ///< by symbol asked for
};

/// Nothing if it is something else; other symbols than `symbols` count as 1.
inline std::optional<LogMonomial> log_monomial(const FormulaPool& pool, FormulaId id,
                                               const std::vector<FormulaId>& symbols) {
  const FormulaNode& node = pool[id];
  LogMonomial made{0, std::vector<double>(symbols.size(), 0)};
  if (node.op == Op::number) {
    made.log2_factor = math::log2(node.value);
    return node.value > 0 ? std::optional(made) : std::nullopt;
  }
  if (node.op == Op::symbol) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      made.exponents[i] = symbols[i] == id ? 1 : 0;
    }
    return made;
  }
  if (node.op != Op::mul && node.op != Op::div) {
    return std::nullopt;
  }
  const std::optional<LogMonomial> a = log_monomial(pool, FormulaId{node.args[0]}, symbols),
                                   b = log_monomial(pool, FormulaId{node.args[1]}, symbols);
  if (!a || !b) {
    return std::nullopt;
  }
  const double sign = node.op == Op::mul ? 1 : -1;
  made.log2_factor = a->log2_factor + sign * b->log2_factor;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    made.exponents[i] = a->exponents[i] + sign * b->exponents[i];
  }
  return made;
}

}  // namespace tensorsmith::felix
