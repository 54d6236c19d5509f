// SPDX-License-Identifier: Apache-2.0
// Assignments as text: one line of name=value, for people, logs and tests.
//
// Floor 6. Own design. Every variable that has a value, in the order of the space:
//     C.i.1=4 C.i.2=16 B.place=3
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensorsmith/space/constraint.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

inline std::string to_text(const VariableSpace& space, const Assignment& values) {
  std::string text;
  for (std::uint32_t i = 0; i < space.size(); ++i) {
    const std::int32_t value = values[VariableId{i}];
    if (value != not_asked) {
      text += text.empty() ? "" : " ";
      text += space[VariableId{i}].name + "=" + std::to_string(value);
    }
  }
  return text;
}

namespace detail {

inline std::optional<std::int32_t> read_value(std::string_view text) {
  const bool is_negative = !text.empty() && text.front() == '-';
  text.remove_prefix(is_negative ? 1 : 0);
  std::int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9' || value > INT32_MAX) {
      return std::nullopt;
    }
    value = value * 10 + (c - '0');
  }
  value = is_negative ? -value : value;
  return text.empty() || value > INT32_MAX || value < INT32_MIN
             ? std::nullopt
             : std::optional(static_cast<std::int32_t>(value));
}

}  // namespace detail

/// The assignment, or what is wrong with the text. Variables that it does not name are not asked.
inline Result<Assignment, std::string> assignment_from_text(const VariableSpace& space,
                                                            std::string_view text) {
  Assignment values(space.size());
  while (!text.empty()) {
    const std::size_t end = text.find(' ') == std::string_view::npos ? text.size() : text.find(' ');
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end < text.size() ? end + 1 : end);
    if (word.empty()) {
      continue;
    }
    const std::size_t sign = word.rfind('=');
    const std::string_view name = word.substr(0, sign == std::string_view::npos ? 0 : sign);
    const VariableId id = space.find(name);
    if (!id.valid()) {
      return fail("expected the name of a variable and its value, got " + in_quotes(word));
    }
    const auto value = detail::read_value(word.substr(sign + 1));
    if (!value) {
      return fail("the value of " + in_quotes(name) + " is no 32-bit integer: " + in_quotes(word));
    }
    if (values[id] != not_asked) {
      return fail("two values of " + in_quotes(name));
    }
    values[id] = *value;
  }
  return values;
}

}  // namespace tensorsmith
