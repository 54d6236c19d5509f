// SPDX-License-Identifier: Apache-2.0
// Reads the JSON of a log's line value by value, without a tree of them.
//
// Private to lib/record. Own design. What is wrong first is kept as one sentence, and ends it.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tensorsmith::ansor_line {

/// Reads values one after the other; the first thing that is wrong stops it.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool is_good() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  void note(std::string problem) {
    problem_ = problem_.empty() ? std::move(problem) : problem_;
    at_ = end_;
  }

  /// Whether the next sign is `c`; it is taken if so.
  bool accept(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) {
      return false;
    }
    ++at_;
    return true;
  }
  void expect(char c, const char* what) {
    if (!accept(c)) {
      note(std::string("expected '") + c + "' " + what);
    }
  }
  bool is_at_end() {
    skip_space();
    return at_ == end_;
  }
  /// Between the elements of a list that `close` ends: false behind the last one.
  bool next(char close, bool& is_first, const char* what) {
    if (accept(close)) {
      return false;
    }
    if (!is_first) {
      expect(',', what);
    }
    is_first = false;
    return is_good();
  }

  void read(std::string& value, const char* what) {
    value.clear();
    expect('"', what);
    while (is_good()) {
      const char* from = at_;
      while (at_ != end_ && *at_ != '"' && *at_ != '\\') {
        ++at_;
      }
      value.append(from, at_);
      if (at_ == end_) {
        return note(std::string("text without an end in ") + what);
      }
      if (*at_++ == '"') {
        return;
      }
      if (at_ == end_) {
        return note(std::string("text without an end in ") + what);
      }
      read_escape(value, what);
    }
  }
  template <class T>
  void read_integer(T& value, const char* what) {
    skip_space();
    const auto [rest, error] = std::from_chars(at_, end_, value);
    if (error != std::errc() || (rest != end_ && (*rest == '.' || *rest == 'e' || *rest == 'E'))) {
      return note(std::string("expected an integer in ") + what);
    }
    at_ = rest;
  }
  /// Any value of JSON, as it stands.
  std::string_view read_any(const char* what, int depth = 0) {
    skip_space();
    const char* const from = at_;
    const bool is_list = at_ != end_ && *at_ == '[', is_object = at_ != end_ && *at_ == '{';
    std::string text;
    if (depth > deepest_value) {
      note(std::string("too deep a value in ") + what);
    } else if (is_list || is_object) {
      ++at_;
      for (bool is_first = true; next(is_list ? ']' : '}', is_first, what);) {
        if (is_object) {
          read(text, what);
          expect(':', what);
        }
        (void)read_any(what, depth + 1);
      }
    } else if (at_ != end_ && *at_ == '"') {
      read(text, what);
    } else {
      read_word(what);
    }
    return is_good() ? std::string_view(from, static_cast<std::size_t>(at_ - from))
                     : std::string_view();
  }
  void read_real(double& value, const char* what) {
    skip_space();
    const auto [rest, error] = std::from_chars(at_, end_, value);
    if (error != std::errc() || !std::isfinite(value)) {
      return note(std::string("expected a number in ") + what);
    }
    at_ = rest;
  }

 private:
  static constexpr int deepest_value = 64;
  /// A number, true, false or null.
  void read_word(const char* what) {
    const char* const from = at_;
    while (at_ != end_ && std::strchr(",]} \t\r", *at_) == nullptr) {
      ++at_;
    }
    const std::string_view word(from, static_cast<std::size_t>(at_ - from));
    double value = 0;
    const auto [rest, error] = std::from_chars(from, at_, value);
    const bool is_number = error == std::errc() && rest == at_ && std::isfinite(value);
    if (!is_number && word != "true" && word != "false" && word != "null") {
      note(std::string("expected a value in ") + what);
    }
  }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) {
      ++at_;
    }
  }
  void read_escape(std::string& value, const char* what) {
    switch (*at_++) {
    case 'b':
      value += '\b';
      break;
    case 'f':
      value += '\f';
      break;
    case 'u':
      read_code(value, what);
      break;
    case 'n':
      value += '\n';
      break;
    case 'r':
      value += '\r';
      break;
    case 't':
      value += '\t';
      break;
    case '\\':
    case '"':
    case '/':
      value += at_[-1];
      break;
    default:
      note(std::string("unknown escape in ") + what);
    }
  }
  /// Four hexadecimal digits; nothing if there are fewer.
  std::optional<std::uint32_t> read_unit() {
    std::uint32_t unit = 0;
    if (end_ - at_ < 4) {
      return std::nullopt;
    }
    const auto [rest, error] = std::from_chars(at_, at_ + 4, unit, 16);
    if (error != std::errc() || rest != at_ + 4) {
      return std::nullopt;
    }
    at_ = rest;
    return unit;
  }
  /// A character of UTF-16 behind "\u", in one unit or two.
  void read_code(std::string& value, const char* what) {
    const std::optional<std::uint32_t> first = read_unit();
    std::uint32_t code = first.value_or(0);
    bool is_good = first && (code < 0xDC00 || code > 0xDFFF);
    if (is_good && code >= 0xD800 && code <= 0xDBFF) {
      const bool has_second = end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u';
      at_ += has_second ? 2 : 0;
      const std::uint32_t second = has_second ? read_unit().value_or(0) : 0;
      is_good = second >= 0xDC00 && second <= 0xDFFF;
      code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
    }
    if (!is_good) {
      return note(std::string("unknown escape in ") + what);
    }
    const int num_more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned char starts[] = {0x00, 0xC0, 0xE0, 0xF0};
    value += static_cast<char>(starts[num_more] | (code >> (6 * num_more)));
    for (int i = num_more; i-- > 0;) {
      value += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
    }
  }

  const char* at_;
  const char* end_;
  std::string problem_;
};

}  // namespace tensorsmith::ansor_line
