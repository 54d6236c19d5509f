// SPDX-License-Identifier: Apache-2.0
// Assignments as JSON: one flat object of names and values, for records and other programs.
//
// Floor 6. Own design. Every variable that has a value, in the order of the space:
//     {"C.i.1": 4, "C.i.2": 16, "B.place": 3}
// Reading takes the members in any order, and every form that JSON has for the same names and
// integers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tensorsmith/space/assignment_text.hpp"

namespace tensorsmith {
namespace detail {

inline void append_json_name(std::string& out, std::string_view name) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  for (char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

inline void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 63));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 63));
    byte(0x80 | (code & 63));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 63));
    byte(0x80 | (code >> 6 & 63));
    byte(0x80 | (code & 63));
  }
}

/// Reads one object of names and integers.
class JsonMembers {
 public:
  explicit JsonMembers(std::string_view text) : text_(text) {}

  /// Calls take(name, value), which may refuse; false: that, or it is no such object.
  template <class Take>
  bool read(const Take& take) {
    if (!skip('{')) {
      return false;
    }
    if (skip('}')) {
      return at_end();
    }
    do {
      std::string name;
      std::int32_t value = 0;
      if (!read_name(name) || !skip(':') || !read_number(value) || !take(name, value)) {
        return false;
      }
    } while (skip(','));
    return skip('}') && at_end();
  }

 private:
  void skip_blanks() {
    while (!text_.empty() &&
           std::string_view(" \t\r\n").find(text_.front()) != std::string_view::npos) {
      text_.remove_prefix(1);
    }
  }
  bool at_end() {
    skip_blanks();
    return text_.empty();
  }
  bool skip(char wanted) {
    skip_blanks();
    if (text_.empty() || text_.front() != wanted) {
      return false;
    }
    text_.remove_prefix(1);
    return true;
  }
  bool read_number(std::int32_t& value) {
    skip_blanks();
    std::size_t end = 0;
    while (end < text_.size() && (text_[end] == '-' || (text_[end] >= '0' && text_[end] <= '9'))) {
      ++end;
    }
    const std::string_view digits = text_.substr(text_.starts_with('-') ? 1 : 0);
    if (end - (text_.size() - digits.size()) > 1 && digits.starts_with('0')) {
      return false;  // no number of JSON
    }
    const auto number = read_value(text_.substr(0, end));
    text_.remove_prefix(end);
    value = number.value_or(0);
    return number.has_value();
  }
  /// Four hexadecimal digits.
  std::optional<std::uint32_t> read_unit() {
    std::uint32_t unit = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = text_.empty() ? ' ' : text_.front();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) {
        return std::nullopt;
      }
      unit = unit * 16 + static_cast<std::uint32_t>(digit);
      text_.remove_prefix(1);
    }
    return unit;
  }
  bool read_escaped(std::string& name) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const char c = text_.empty() ? ' ' : text_.front();
    const std::size_t which = letters.find(c);
    if (which != std::string_view::npos) {
      text_.remove_prefix(1);
      name += meanings[which];
      return true;
    }
    if (c != 'u') {
      return false;
    }
    text_.remove_prefix(1);
    std::optional<std::uint32_t> unit = read_unit();
    if (unit && *unit >= 0xD800 && *unit < 0xDC00) {  // the first half of a pair
      if (!text_.starts_with("\\u")) {
        return false;
      }
      text_.remove_prefix(2);
      const std::optional<std::uint32_t> second = read_unit();
      if (!second || *second < 0xDC00 || *second > 0xDFFF) {
        return false;
      }
      unit = 0x10000 + ((*unit - 0xD800) << 10) + (*second - 0xDC00);
    } else if (!unit || (*unit >= 0xDC00 && *unit <= 0xDFFF)) {
      return false;
    }
    append_utf8(name, *unit);
    return true;
  }
  bool read_name(std::string& name) {
    if (!skip('"')) {
      return false;
    }
    while (!text_.empty() && text_.front() != '"') {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (static_cast<unsigned char>(c) < 0x20 || (c == '\\' && !read_escaped(name))) {
        return false;
      }
      if (c != '\\') {
        name += c;
      }
    }
    if (text_.empty()) {
      return false;
    }
    text_.remove_prefix(1);
    return true;
  }

  std::string_view text_;
};

}  // namespace detail

inline std::string to_json(const VariableSpace& space, const Assignment& values) {
  std::string text;
  for (std::uint32_t i = 0; i < space.size(); ++i) {
    const std::int32_t value = values[VariableId{i}];
    if (value != not_asked) {
      text += text.empty() ? "" : ", ";
      detail::append_json_name(text, space[VariableId{i}].name);
      text += ": " + std::to_string(value);
    }
  }
  return "{" + text + "}";
}

/// The assignment, or what is wrong with the text. Variables that it does not name are not asked.
inline Result<Assignment, std::string> assignment_from_json(const VariableSpace& space,
                                                            std::string_view text) {
  Assignment values(space.size());
  std::string problem;
  const bool is_read =
      detail::JsonMembers(text).read([&](const std::string& name, std::int32_t value) {
        const VariableId id = space.find(name);
        if (!id.valid()) {
          problem = "there is no variable " + in_quotes(name);
        } else if (value == not_asked || values[id] != not_asked) {
          problem = value == not_asked ? "the value of " + in_quotes(name) + " is out of range"
                                       : "two values of " + in_quotes(name);
        } else {
          values[id] = value;
        }
        return problem.empty();
      });
  if (!is_read) {
    return fail(!problem.empty()
                    ? problem
                    : "expected an object of names and 32-bit integers, got " + in_quotes(text));
  }
  return values;
}

}  // namespace tensorsmith
