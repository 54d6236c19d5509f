// SPDX-License-Identifier: Apache-2.0
// Rule: one rewrite of an expression, as a pattern and what it becomes.
//
// Floor 1. Own design. Not here: its text (rule_parser.hpp), whether an expression has its form
// (rule_match.hpp), the rules (rules.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"

namespace tensorsmith::algebra {

enum class Part : std::uint8_t { any, constant, literal, operation, show_ge, show_zero };

struct PatternNode {
  Part part = Part::any;
  Op op = Op::integer;
  std::int16_t a = -1, b = -1, c = -1;  ///< operands, in Rule::nodes
  std::int64_t value = 0;               ///< of a literal; number of a name
  bool is_truth = false;                ///< a literal: true or false
};

constexpr std::size_t num_pattern_names = 10;

/// What operands must be for a pattern to fit, so that most need not be tried.
struct OperandOps {
  static constexpr Op any = Op::load;  ///< no rule names a load
  Op a = any, b = any;

  bool fit(Op first, Op second) const {
    return (a == any || a == first) && (b == any || b == second);
  }
};

struct Rule {
  std::vector<PatternNode> nodes;
  std::vector<std::int16_t> patterns;
  std::vector<OperandOps> operands;  ///< by pattern
  std::int16_t result = -1, condition = -1;
  bool is_repeated = false;
};
using Rules = std::vector<Rule>;

}  // namespace tensorsmith::algebra
