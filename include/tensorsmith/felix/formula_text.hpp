// SPDX-License-Identifier: Apache-2.0
// Formulas as text: prefix notation in parentheses, as the reference's simplifier reads it.
//
// Floor 6.5. "(+ (// (- N:s 1) sp_0_2:k) 1)": the end of a name says what kind of symbol it is, :s
// shape, :k knob, :v shorthand, :b condition; none: a plain number. Numbers are written with the
// digits that read back as the same value.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tensorsmith/felix/formula.hpp"
#include "tensorsmith/support/text_writer.hpp"

namespace tensorsmith::felix {

namespace detail {

inline SymbolKind kind_of_name(std::string_view name) {
  const std::string_view end = name.size() < 2 ? name : name.substr(name.size() - 2);
  return end == ":s"   ? SymbolKind::shape
         : end == ":k" ? SymbolKind::knob
         : end == ":v" ? SymbolKind::shorthand
         : end == ":b" ? SymbolKind::boolean
                       : SymbolKind::plain;
}

/// A whole number without a point, any other with what reads back.
inline std::string text_of_value(double value) {
  if (value == math::floor(value) && math::fabs(value) < 9e15) {
    return std::to_string(static_cast<long long>(value));
  }
  return text_of_real(value);
}

class FormulaReader {
 public:
  FormulaReader(FormulaPool& pool, std::string_view text) : pool_(pool), text_(text) {}
  std::optional<FormulaId> read_all() {
    const std::optional<FormulaId> found = read(0);
    skip_blanks();
    return at_ == text_.size() ? found : std::nullopt;
  }

 private:
  static constexpr int max_depth = 1000;

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  std::string_view word() {
    skip_blanks();
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\n' && text_[at_] != '(' &&
           text_[at_] != ')') {
      ++at_;
    }
    return text_.substr(first, at_ - first);
  }
  std::optional<FormulaId> read(int depth) {
    skip_blanks();
    if (depth > max_depth || at_ == text_.size()) {
      return std::nullopt;
    }
    if (text_[at_] != '(') {
      return leaf(std::string(word()));
    }
    ++at_;
    const std::string_view name = word();
    std::optional<Op> op;
    for (std::size_t i = 0; i < num_ops; ++i) {
      if (!name.empty() && facts_of(static_cast<Op>(i)).text == name) {
        op = static_cast<Op>(i);
      }
    }
    if (!op.has_value()) {
      return std::nullopt;
    }
    FormulaId args[3];
    for (std::size_t i = 0; i < arity_of(*op); ++i) {
      const std::optional<FormulaId> arg = read(depth + 1);
      if (!arg.has_value()) {
        return std::nullopt;
      }
      args[i] = *arg;
      const bool wants = facts_of(*op).takes_conditions || (*op == Op::select && i == 0);
      const bool has = pool_.is_condition(*arg);
      if (*op == Op::select && i > 0 ? has != pool_.is_condition(args[1]) : has != wants) {
        return std::nullopt;
      }
    }
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != ')') {
      return std::nullopt;
    }
    ++at_;
    return pool_.make(*op, args[0], args[1], args[2]);
  }
  std::optional<FormulaId> leaf(const std::string& name) {
    if (name.empty()) {
      return std::nullopt;
    }
    if (name == "true" || name == "false") {
      return pool_.truth(name == "true");
    }
    const char first = name[0] == '-' && name.size() > 1 ? name[1] : name[0];
    if ((first >= '0' && first <= '9') || first == '.') {
      char* end = nullptr;
      const double value = std::strtod(name.c_str(), &end);
      return *end == 0 ? std::optional(pool_.number(value)) : std::nullopt;
    }
    return pool_.symbol(name, kind_of_name(name));
  }

  FormulaPool& pool_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Nothing if the text is no formula.
inline std::optional<FormulaId> read_formula(FormulaPool& pool, std::string_view text) {
  return detail::FormulaReader(pool, text).read_all();
}

inline std::string text_of(const FormulaPool& pool, FormulaId id) {
  const FormulaNode& node = pool[id];
  switch (node.op) {
  case Op::number:
    return detail::text_of_value(node.value);
  case Op::truth:
    return node.value != 0 ? "true" : "false";
  case Op::symbol:
    return pool.name_of_symbol(node.args[0]);
  default:
    break;
  }
  std::string text = "(" + std::string(facts_of(node.op).text);
  for (std::size_t i = 0; i < arity_of(node.op); ++i) {
    text += " " + text_of(pool, FormulaId{node.args[i]});
  }
  return text + ")";
}

}  // namespace tensorsmith::felix
