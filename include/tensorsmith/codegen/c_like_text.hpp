// SPDX-License-Identifier: Apache-2.0
// Pieces of C-like text: operators with their strength, and sums of terms.
//
// Floor 5. Own design. Not here: expressions (c_like.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// Text with the strength of its outermost operator: it needs parentheses inside stronger ones.
struct CText {
  enum Strength { ternary, or_, and_, compare, add, mul, unary, atom };
  std::string text;
  Strength strength = atom;

  std::string within(Strength minimum) const {
    return strength < minimum ? "(" + text + ")" : text;
  }
};

/// constant + sum of coefficient * term.
struct LinearText {
  std::int64_t constant = 0;
  std::vector<std::pair<std::string, std::int64_t>> terms;  ///< atoms; no coefficient is 0

  static LinearText of(std::string text, std::int64_t constant = 0) {
    LinearText result;
    result.constant = constant;
    result.terms.emplace_back(std::move(text), 1);
    return result;
  }
  static LinearText of(std::int64_t constant) {
    LinearText result;
    result.constant = constant;
    return result;
  }
  void add_term(const std::string& text, std::int64_t coefficient) {
    const auto found = find_item(terms, [&](const auto& term) { return term.first == text; });
    if (found == nullptr) {
      terms.emplace_back(text, coefficient);
    } else {
      found->second += coefficient;
    }
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  }
  void add(const LinearText& other, std::int64_t factor) {
    constant += other.constant * factor;
    for (const auto& [text, coefficient] : other.terms) {
      add_term(text, coefficient * factor);
    }
  }
  bool is_constant() const { return terms.empty(); }
  std::int64_t coefficient_of(std::string_view text) const {
    for (const auto& term : terms) {
      if (term.first == text) {
        return term.second;
      }
    }
    return 0;
  }
  CText print() const {
    std::string text;
    for (const auto& [name, coefficient] : terms) {
      const std::int64_t size = coefficient < 0 ? -coefficient : coefficient;
      text += text.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + ");
      text += size == 1 ? name : std::to_string(size) + " * " + name;
    }
    if (terms.empty() && constant == INT64_MIN) {  // no literal has this value
      return {"(-9223372036854775807 - 1)", CText::atom};
    }
    if (terms.empty()) {
      return {std::to_string(constant), constant < 0 ? CText::unary : CText::atom};
    }
    if (constant != 0) {
      text += constant < 0 ? " - " + std::to_string(-constant) : " + " + std::to_string(constant);
    }
    const bool single = terms.size() == 1 && constant == 0;
    return {text, !single                 ? CText::add
                  : terms[0].second == 1  ? CText::atom
                  : terms[0].second == -1 ? CText::unary
                                          : CText::mul};
  }
};

/// d * whole + rest, where floordiv(x, d) = whole + floordiv(rest, d) and 0 <= rest.constant < d.
struct DividedText {
  LinearText whole, rest;
};
inline DividedText divide(const LinearText& value, std::int64_t divisor) {
  DividedText result;
  const auto floor_mod = [&](std::int64_t a) { return ((a % divisor) + divisor) % divisor; };
  result.rest.constant = floor_mod(value.constant);
  result.whole.constant = (value.constant - result.rest.constant) / divisor;
  for (const auto& [text, coefficient] : value.terms) {
    if (coefficient % divisor == 0) {
      result.whole.add_term(text, coefficient / divisor);
    } else {
      result.rest.add_term(text, coefficient);
    }
  }
  return result;
}

}  // namespace tensorsmith
