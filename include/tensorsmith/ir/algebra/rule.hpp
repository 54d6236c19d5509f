// SPDX-License-Identifier: Apache-2.0
// Rule: one rewrite of an expression, as a pattern and what it becomes.
//
// Floor 1. Own design. Not here: its text (rule_parser.hpp), whether an expression has its form
// (rule_match.hpp), the rules (rules.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <utility>
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

  bool fits_a(Op op) const { return a == any || a == op; }
  bool fits_b(Op op) const { return b == any || b == op; }
};

struct Rule {
  std::vector<PatternNode> nodes;
  std::vector<std::int16_t> patterns;
  std::vector<OperandOps> operands;  ///< by pattern
  std::int16_t result = -1, condition = -1;
  bool is_repeated = false;
};

/// Rules in the order in which they are tried. Which of their patterns operands of two kinds may
/// have is looked up, because hardly any expression has the form of one.
class Rules {
 public:
  void add(Rule rule) {
    for (std::size_t i = 0; i < rule.patterns.size(); ++i) {
      add_pattern({static_cast<std::uint16_t>(rules_.size()), rule.patterns[i]}, rule.operands[i]);
    }
    rules_.push_back(std::move(rule));
  }
  auto begin() const { return rules_.begin(); }
  auto end() const { return rules_.end(); }

  /// What `attempt(rule, pattern)` gives for the first pattern for which it is not no_ref.
  template <class Attempt>
  Ref first(Op a, Op b, const Attempt& attempt) const {
    const std::uint64_t* of_a = fitting_a_.data() + static_cast<std::size_t>(a) * words_;
    const std::uint64_t* of_b = fitting_b_.data() + static_cast<std::size_t>(b) * words_;
    for (std::size_t word = 0; word < words_; ++word) {
      for (std::uint64_t left = of_a[word] & of_b[word]; left != 0; left &= left - 1) {
        const Place& place = places_[word * 64 + static_cast<std::size_t>(__builtin_ctzll(left))];
        if (const Ref result = attempt(rules_[place.rule], place.pattern); result != no_ref) {
          return result;
        }
      }
    }
    return no_ref;
  }

 private:
  struct Place {
    std::uint16_t rule = 0;
    std::int16_t pattern = 0;
  };
  static constexpr std::size_t num_ops = static_cast<std::size_t>(Op::load) + 1;
  static constexpr std::size_t words_ = 2;

  void add_pattern(Place place, OperandOps operands) {
    const std::size_t number = places_.size();
    TENSORSMITH_ASSERT(number < words_ * 64, "rules have as many patterns as their table");
    places_.push_back(place);
    for (std::size_t op = 0; op < num_ops; ++op) {
      const std::uint64_t bit = std::uint64_t{1} << number % 64;
      const std::size_t at = op * words_ + number / 64;
      fitting_a_[at] |= operands.fits_a(static_cast<Op>(op)) ? bit : 0;
      fitting_b_[at] |= operands.fits_b(static_cast<Op>(op)) ? bit : 0;
    }
  }

  std::vector<Rule> rules_;
  std::vector<Place> places_;  ///< of the patterns, by number
  /// By the operation of an operand, a bit per pattern.
  std::array<std::uint64_t, num_ops * words_> fitting_a_{}, fitting_b_{};
};

}  // namespace tensorsmith::algebra
