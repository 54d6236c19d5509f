// SPDX-License-Identifier: Apache-2.0
// parse_rules: rules from lines of text.
//
// Floor 1. Own design. "x * c1 < y * c1 -> x < y ; c1 > 0": a pattern, what it becomes, and when.
// Patterns that become the same stand side by side with "or else" between them: " ~ ". "=>" in
// place of "->": the result is simplified again. x y z s t p q stand for any expression, c1 c2 c3
// for constants; // and % are floordiv and floormod; select(...), min(...), max(...) have their
// names. A condition calculates with constants; ge(e, n), prove0(e) ask whether e >= n and e == 0
// can be shown. Not here: the rules (rules.hpp).
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "tensorsmith/ir/algebra/rule.hpp"

namespace tensorsmith::algebra {

namespace detail {

class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : text_(text) {}

  Rule parse() {
    rule_.patterns.push_back(truth());
    while (take("~")) {
      rule_.patterns.push_back(truth());
    }
    rule_.is_repeated = take("=>");
    TENSORSMITH_ASSERT(rule_.is_repeated || take("->"), "a rule has an arrow");
    rule_.result = truth();
    if (take(";")) {
      rule_.condition = truth();
    }
    skip();
    TENSORSMITH_ASSERT(at_ == text_.size(), "a rule is read to its end");
    for (std::int16_t pattern : rule_.patterns) {
      const PatternNode& root = rule_.nodes[static_cast<std::size_t>(pattern)];
      rule_.operands.push_back({needed(root.a), needed(root.b)});
    }
    return std::move(rule_);
  }

 private:
  Op needed(std::int16_t operand) const {
    if (operand < 0) {
      return OperandOps::any;
    }
    const PatternNode& node = rule_.nodes[static_cast<std::size_t>(operand)];
    return node.part == Part::any         ? OperandOps::any
           : node.part == Part::operation ? node.op
                                          : Op::integer;
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) {
      return false;
    }
    at_ += token.size();
    return true;
  }
  /// An operator, but not the beginning of an arrow.
  bool take_operator(std::string_view token) {
    skip();
    const std::string_view rest = text_.substr(at_);
    return rest.substr(0, 2) != "->" && rest.substr(0, 2) != "=>" && take(token);
  }
  std::int16_t add(PatternNode node) {
    rule_.nodes.push_back(node);
    return static_cast<std::int16_t>(rule_.nodes.size() - 1);
  }
  std::int16_t operation(Op op, std::int16_t a, std::int16_t b = -1, std::int16_t c = -1) {
    return add({Part::operation, op, a, b, c, 0, false});
  }
  std::int16_t truth() {
    std::int16_t left = conjunction();
    while (take_operator("||")) {
      left = operation(Op::or_, left, conjunction());
    }
    return left;
  }
  std::int16_t conjunction() {
    std::int16_t left = comparison();
    while (take_operator("&&")) {
      left = operation(Op::and_, left, comparison());
    }
    return left;
  }
  std::int16_t comparison() {
    const std::int16_t left = sum();
    struct Sign {
      std::string_view text;
      Op op;
    };
    for (const Sign sign : {Sign{"==", Op::eq}, Sign{"!=", Op::ne}, Sign{"<=", Op::le},
                            Sign{">=", Op::ge}, Sign{"<", Op::lt}, Sign{">", Op::gt}}) {
      if (take_operator(sign.text)) {
        return operation(sign.op, left, sum());
      }
    }
    return left;
  }
  std::int16_t sum() {
    std::int16_t left = product();
    for (;;) {
      if (take_operator("+")) {
        left = operation(Op::add, left, product());
      } else if (take_operator("-")) {
        left = operation(Op::sub, left, product());
      } else {
        return left;
      }
    }
  }
  std::int16_t product() {
    std::int16_t left = primary();
    for (;;) {
      if (take_operator("//")) {
        left = operation(Op::floordiv, left, primary());
      } else if (take_operator("*")) {
        left = operation(Op::mul, left, primary());
      } else if (take_operator("%")) {
        left = operation(Op::floormod, left, primary());
      } else {
        return left;
      }
    }
  }
  std::int16_t primary() {
    if (take("(")) {
      const std::int16_t inner = truth();
      close();
      return inner;
    }
    if (take("!")) {
      return operation(Op::not_, primary());
    }
    skip();
    const char c = text_[at_];
    if (c >= '0' && c <= '9') {
      ++at_;
      return add({Part::literal, Op::integer, -1, -1, -1, c - '0', false});
    }
    for (const Function& f : functions) {
      if (take(f.name)) {
        return call(f);
      }
    }
    if (take("true") || take("false")) {
      return add({Part::literal, Op::integer, -1, -1, -1, text_[at_ - 2] == 'u' ? 1 : 0, true});
    }
    ++at_;
    if (c == 'c') {
      const char digit = text_[at_++];
      return add({Part::constant, Op::integer, -1, -1, -1, 6 + digit - '0', false});
    }
    const std::size_t name = std::string_view("xyzstpq").find(c);
    TENSORSMITH_ASSERT(name != std::string_view::npos, "a rule has only the names it may");
    return add({Part::any, Op::integer, -1, -1, -1, static_cast<std::int64_t>(name), false});
  }
  struct Function {
    std::string_view name;
    Part part;
    Op op;
  };
  static constexpr Function functions[] = {{"min(", Part::operation, Op::min},
                                           {"max(", Part::operation, Op::max},
                                           {"select(", Part::operation, Op::select},
                                           {"ge(", Part::show_ge, Op::ge},
                                           {"prove0(", Part::show_zero, Op::eq}};
  std::int16_t call(const Function& f) {
    std::int16_t operands[3] = {truth(), -1, -1};
    for (std::size_t i = 1; i < 3 && take(","); ++i) {
      operands[i] = truth();
    }
    close();
    return add({f.part, f.op, operands[0], operands[1], operands[2], 0, false});
  }
  void close() {
    const bool is_closed = take(")");
    TENSORSMITH_ASSERT(is_closed, "a rule closes its parentheses");
    (void)is_closed;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Rule rule_;
};

}  // namespace detail

template <std::size_t N>
Rules parse_rules(const std::string_view (&lines)[N]) {
  Rules rules;
  for (std::string_view line : lines) {
    rules.add(detail::RuleParser(line).parse());
  }
  return rules;
}

}  // namespace tensorsmith::algebra
