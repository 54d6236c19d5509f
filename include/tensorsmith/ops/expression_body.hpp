// SPDX-License-Identifier: Apache-2.0
// The definitions of expression.hpp.
//
// Floor 3. Included by ops/expression.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ops/expression.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/notation.hpp"

namespace tensorsmith::ops {

namespace detail {

class EinsumReader {
 public:
  /// `text`: without "einsum:".
  explicit EinsumReader(std::string_view text) : text_(text) {}

  /// The same in index notation. Throws Error.
  std::string operator()() {
    const std::size_t arrow = text_.find("->");
    if (arrow == std::string_view::npos) {
      refuse("subscripts with an arrow, such as ik,kj->ij,i=64,k=32,j=16");
    }
    std::vector<std::string_view> operands = parts(text_.substr(0, arrow));
    std::vector<std::string_view> rest = parts(text_.substr(arrow + 2));
    const std::string_view result = rest[0];
    std::string type = "f32";
    for (std::size_t i = 1; i < rest.size(); ++i) {
      if (rest[i].size() > 2 && rest[i][1] == '=' && is_letter(rest[i][0])) {
        extents_.emplace_back(rest[i][0], std::string(rest[i].substr(2)));
      } else {
        type = std::string(rest[i]);
      }
    }
    if (operands.size() > 8) {
      refuse("at most 8 operands");
    }
    const bool is_narrow = type == "f16" || type == "bf16";
    if (!is_narrow && type != "f32" && type != "f64") {
      refuse("a type f64, f32, f16 or bf16, or an extent such as i=64, not \"" + type + "\"");
    }
    std::string product, all;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string name(1, static_cast<char>('A' + i));
      const std::string read = name + "." + type + indices(operands[i]);
      product += (i > 0 ? "*" : "") + (is_narrow ? "f32(" + read + ")" : read);
      all += operands[i];
    }
    for (char letter : result) {
      if (all.find(letter) == std::string::npos) {
        refuse("indices of the result that an operand has");
      }
    }
    const bool sums = all.find_first_not_of(std::string(result)) != std::string::npos;
    const std::string way = sums ? " += " : " = ";
    if (!is_narrow) {
      return "Y" + indices(result) + way + product;
    }
    return !sums ? "Y" + indices(result) + way + type + "(" + product + ")"
                 : "T" + indices(result) + way + product + "; Y" + indices(result) + " = " + type +
                       "(T" + letters(result) + ")";
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const {
    throw Error("einsum " + in_quotes(text_) + ": expected " + expected);
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static std::vector<std::string_view> parts(std::string_view text) {
    std::vector<std::string_view> found;
    for (;;) {
      const std::size_t comma = text.find(',');
      found.push_back(text.substr(0, comma));
      if (comma == std::string_view::npos) {
        return found;
      }
      text.remove_prefix(comma + 1);
    }
  }
  std::string letters(std::string_view subscripts) const {
    std::string text;
    for (char c : subscripts) {
      if (!is_letter(c)) {
        refuse("letters as indices, got \"" + std::string(subscripts) + "\"");
      }
      text += (text.empty() ? "" : ",") + std::string(1, c);
    }
    return "[" + text + "]";
  }
  /// With the extents behind them.
  std::string indices(std::string_view subscripts) const {
    std::string text;
    for (char c : letters(subscripts)) {
      text += c;
      if (is_letter(c)) {
        text += ":" + extent_of(c);
      }
    }
    return text;
  }
  std::string extent_of(char letter) const {
    for (const auto& [known, extent] : extents_) {
      if (known == letter) {
        return extent;
      }
    }
    refuse(std::string("the extent of index ") + letter + ", such as " + letter + "=64");
  }

  std::string_view text_;
  std::vector<std::pair<char, std::string>> extents_;
};

}  // namespace detail

TENSORSMITH_INLINE Workload expression(const ExpressionParams& params) {
  constexpr std::string_view einsum = "einsum:";
  const std::string text =
      params.text.starts_with(einsum)
          ? detail::EinsumReader(std::string_view(params.text).substr(einsum.size()))()
          : params.text;
  Result<Shared<const ComputeDag>, std::string> dag = te::read_notation(text);
  if (!dag) {
    throw Error(dag.error());
  }
  Result<std::string, std::string> name = te::write_notation(**dag);
  if (!name) {
    throw Error(name.error());
  }
  Workload made;
  made.kind = "expression";
  made.name = std::move(*name);
  made.params = ExpressionParams{made.name};
  made.dag = std::move(*dag);
  const double flop = te::count_flop(*made.dag);
  made.nominal_flop = flop > 0 ? flop : 0;
  for (const Operation& op : made.dag->operations()) {
    std::int64_t length = 1;
    for (const Axis& axis : op.reduce_axes) {
      length *= axis.extent;
    }
    made.reduction_length = length > made.reduction_length ? length : made.reduction_length;
  }
  return made;
}

}  // namespace tensorsmith::ops
