// SPDX-License-Identifier: Apache-2.0
// NotationFormulaParser: formulas of index notation (te/notation.hpp).
//
// Floor 2. Own design; grammar in docs/notation.md.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/te/notation_cursor.hpp"
#include "tensorsmith/te/notation_words.hpp"

namespace tensorsmith::te::detail {

class NotationFormulaParser {
 public:
  /// Adds nodes to `nodes`, and takes words from `in`.
  NotationFormulaParser(NotationCursor& in, std::vector<NotationNode>& nodes)
      : in_(in), nodes_(nodes) {}

  /// The number of the node of the formula that stands here.
  std::uint32_t operator()() {
    if (++nesting_ > deepest) {
      in_.failed("at most " + std::to_string(deepest) + " parentheses inside of each other");
    }
    const std::size_t begin = in_.at();
    std::uint32_t value = operation(1);
    if (in_.take("?")) {
      const std::uint32_t yes = (*this)();
      in_.expect(":");
      const std::uint32_t no = (*this)();
      value = add(node(NotationKind::conditional, begin, {}, {value, yes, no}));
    }
    --nesting_;
    return value;
  }

 private:
  static constexpr std::uint32_t deepest = deepest_notation;

  std::uint32_t add(NotationNode node) {
    for (std::uint32_t operand : node.operands) {
      const std::uint32_t depth = nodes_[operand].depth + 1;
      node.depth = node.depth > depth ? node.depth : depth;
    }
    if (node.depth > deepest) {
      in_.failed_at(node.at, "at most " + std::to_string(deepest) +
                                 " operations inside of each other; give parts a tensor of "
                                 "their own");
    }
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  static NotationNode node(NotationKind kind, std::size_t at, std::string name = {},
                           std::vector<std::uint32_t> operands = {}) {
    NotationNode made;
    made.kind = kind;
    made.at = at;
    made.name = std::move(name);
    made.operands = std::move(operands);
    return made;
  }
  /// The infix operator that stands here, the longest; nothing: there is none.
  std::string_view infix() const {
    std::string_view found;
    for (BinaryOp op : all_binary_ops) {
      const OperatorText text = text_of_operator(op);
      if (text.is_infix && text.text.size() > found.size() && in_.next_is(text.text)) {
        found = text.text;
      }
    }
    return found;
  }
  static int level_of(std::string_view text) {
    for (BinaryOp op : all_binary_ops) {
      if (text_of_operator(op).is_infix && text_of_operator(op).text == text) {
        return text_of_operator(op).level;
      }
    }
    return 0;
  }
  std::uint32_t operation(int level) {
    std::uint32_t value = prefixed();
    for (;;) {
      const std::string_view op = infix();
      const int own = op.empty() ? 0 : level_of(op);
      if (own < level) {
        return value;
      }
      const std::size_t begin = in_.at();
      in_.take(op);
      const std::uint32_t right = operation(own + 1);
      value = add(node(NotationKind::infix, begin, std::string(op), {value, right}));
    }
  }
  std::uint32_t prefixed() {
    const std::size_t begin = in_.at();
    std::string signs;
    while (in_.next_is("-") || (in_.next_is("!") && !in_.next_is("!="))) {
      signs += in_.next();
      in_.take(in_.next_is("-") ? "-" : "!");
    }
    std::uint32_t value = operand();
    while (!signs.empty()) {
      NotationNode& inner = nodes_[value];
      if (signs.back() == '-' && inner.kind == NotationKind::integer && signs.size() == 1 &&
          inner.at == at_of_operand_) {
        inner.integer = inner.is_beyond ? inner.integer : -inner.integer;
        inner.is_beyond = false;
      } else if (signs.back() == '-' && inner.kind == NotationKind::real && signs.size() == 1 &&
                 inner.at == at_of_operand_) {
        inner.real = -inner.real;
      } else {
        value = add(node(NotationKind::prefix, begin, std::string(1, signs.back()), {value}));
      }
      signs.pop_back();
    }
    return value;
  }
  std::uint32_t operand() {
    at_of_operand_ = in_.at();
    const std::size_t begin = in_.at();
    if (in_.take("(")) {
      const std::uint32_t value = (*this)();
      in_.expect(")");
      return value;
    }
    if (in_.at_digit() || in_.next() == '.') {
      return add(in_.number());
    }
    std::string word = in_.name("a number, an index, a tensor or a function");
    if (in_.take("(")) {
      std::vector<std::uint32_t> operands;
      do {
        operands.push_back((*this)());
      } while (in_.take(","));
      in_.expect(")");
      return add(node(NotationKind::call, begin, std::move(word), std::move(operands)));
    }
    if (!in_.take("[")) {
      return add(node(NotationKind::name, begin, std::move(word)));
    }
    NotationNode made = node(NotationKind::element, begin, std::move(word));
    if (!in_.next_is("]")) {
      do {
        made.operands.push_back((*this)());
        made.extents.push_back(in_.take(":") ? in_.extent() : 0);
      } while (in_.take(","));
    }
    in_.expect("]");
    return add(std::move(made));
  }

  NotationCursor& in_;
  std::vector<NotationNode>& nodes_;
  std::uint32_t nesting_ = 0;
  std::size_t at_of_operand_ = 0;
};

}  // namespace tensorsmith::te::detail
