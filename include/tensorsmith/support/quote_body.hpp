// SPDX-License-Identifier: Apache-2.0
// The definitions of quote.hpp.
//
// Floor 0. Included by support/quote.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {

namespace detail {

/// Bytes of the UTF-8 character at the beginning of `text`; 0: it is none.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80    ? 1
                             : first < 0xC2  ? 0
                             : first < 0xE0  ? 2
                             : first < 0xF0  ? 3
                             : first <= 0xF4 ? 4
                                             : 0;
  if (length > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  const unsigned char second = length > 1 ? byte(1) : 0;
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character =
      (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  const bool is_control = first == 0xC2 && second < 0xA0;  // U+0080 to U+009F
  return is_overlong || is_no_character || is_control ? 0 : length;
}

}  // namespace detail

TENSORSMITH_INLINE std::string one_line(std::string_view text, std::size_t most) {
  constexpr char digits[] = "0123456789abcdef";
  std::string line;
  std::size_t at = 0;
  while (at < text.size() && at < most) {
    const auto code = static_cast<unsigned char>(text[at]);
    const std::size_t length = detail::utf8_length(text.substr(at));
    if (code == '\n') {
      line += "\\n";
    } else if (code == '\t') {
      line += "\\t";
    } else if (code < 0x20 || code == 0x7F || length == 0) {
      line += "\\x";
      line += digits[code / 16];
      line += digits[code % 16];
    } else {
      line += text.substr(at, length);
      at += length - 1;
    }
    ++at;
  }
  if (at < text.size()) {
    line += "... (" + std::to_string(text.size()) + " bytes)";
  }
  return line;
}

TENSORSMITH_INLINE std::string in_quotes(std::string_view text, std::size_t most) {
  return "\"" + one_line(text, most) + "\"";
}

TENSORSMITH_INLINE std::string with_short_words(std::string_view sentence, std::size_t most) {
  std::string result;
  while (!sentence.empty()) {
    std::size_t end = sentence.find_first_of(" \"");
    if (end == 0 && sentence[0] == '"') {
      const std::size_t quote = sentence.find('"', 1);
      end = quote == std::string_view::npos || quote <= most + 1 ? 1 : quote;
      result += '"';
      result += end > 1 ? one_line(sentence.substr(1, end - 1), most) + "\"" : std::string();
      end += end > 1 ? 1 : 0;
    } else if (end == 0) {
      end = 1;
      result += ' ';
    } else {
      end = end == std::string_view::npos ? sentence.size() : end;
      result += one_line(sentence.substr(0, end), end > most ? most : std::string_view::npos);
    }
    sentence.remove_prefix(end);
  }
  return result;
}

}  // namespace tensorsmith
