// SPDX-License-Identifier: Apache-2.0
// The rules, read once per program.
//
// Floor 1. Not here: the lines (rules.hpp, truth_rules.hpp).
#pragma once

#include "tensorsmith/ir/algebra/rule_parser.hpp"
#include "tensorsmith/ir/algebra/rules.hpp"
#include "tensorsmith/ir/algebra/truth_rules.hpp"

namespace tensorsmith::algebra::rules {

struct Tables {
  Rules sum = parse_rules(sum_lines), difference = parse_rules(difference_lines);
  Rules real_difference = parse_rules(real_difference_lines);
  Rules product = parse_rules(product_lines);
  Rules quotient_first = parse_rules(quotient_first_lines);
  Rules quotient = parse_rules(quotient_lines), remainder = parse_rules(remainder_lines);
  Rules min = parse_rules(min_lines), max = parse_rules(max_lines);
  Rules choice_sum = parse_rules(choice_sum_lines);
  Rules choice_difference = parse_rules(choice_difference_lines);
  Rules choice_min = parse_rules(choice_min_lines), choice_max = parse_rules(choice_max_lines);
  Rules equal = parse_rules(equal_lines), less = parse_rules(less_lines);
  Rules not_ = parse_rules(not_lines), and_ = parse_rules(and_lines), or_ = parse_rules(or_lines);
};
inline const Tables& tables() {
  static const Tables all;
  return all;
}

}  // namespace tensorsmith::algebra::rules
