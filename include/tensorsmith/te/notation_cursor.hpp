// SPDX-License-Identifier: Apache-2.0
// NotationCursor: the words of index notation, one after the other (te/notation.hpp).
//
// Floor 2. Own design. Throws Error that says where in the text what was expected.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/te/notation_syntax.hpp"

namespace tensorsmith::te::detail {

class NotationCursor {
 public:
  explicit NotationCursor(std::string_view text) : text_(text) { skip_space(); }

  /// "notation: at byte 12, before "...": expected EXPECTED"
  [[noreturn]] static void failed_at(std::string_view text, std::size_t at,
                                     const std::string& expected) {
    throw Error("notation: at byte " + std::to_string(at) +
                (at < text.size() ? ", before " + in_quotes(text.substr(at), 40) : ", at the end") +
                ": expected " + expected);
  }
  [[noreturn]] void failed_at(std::size_t at, const std::string& expected) const {
    failed_at(text_, at, expected);
  }
  [[noreturn]] void failed(const std::string& expected) const { failed_at(text_, at_, expected); }

  bool next_is(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool take(std::string_view token) {
    if (!next_is(token)) {
      return false;
    }
    at_ += token.size();
    skip_space();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) {
      failed("\"" + std::string(token) + "\"");
    }
  }
  bool at_name() const { return at_ < text_.size() && is_letter(text_[at_]); }
  std::string name(const std::string& what) {
    if (!at_name()) {
      failed(what);
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) {
      ++at_;
    }
    std::string result(text_.substr(begin, at_ - begin));
    skip_space();
    return result;
  }
  std::int64_t extent() {
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_]) && value <= INT32_MAX) {
      value = value * 10 + (text_[at_++] - '0');
    }
    if (at_ == begin || value <= 0 || value > INT32_MAX) {
      failed_at(begin, "an extent between 1 and 2147483647");
    }
    skip_space();
    return value;
  }

  std::string quotation() {
    if (!next_is("\"")) {
      failed("a text in double quotes");
    }
    const std::size_t begin = at_++;
    const auto hex = [](char c) {
      return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    std::string result;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        c = text_[++at_];
        if (c == 'x') {
          const int high = at_ + 1 < text_.size() ? hex(text_[at_ + 1]) : -1;
          const int low = at_ + 2 < text_.size() ? hex(text_[at_ + 2]) : -1;
          if (high < 0 || low < 0) {
            failed("two hexadecimal digits behind \\x");
          }
          c = static_cast<char>(high * 16 + low);
          at_ += 2;
        }
      }
      result += c;
    }
    if (at_ == text_.size()) {
      failed_at(begin, "a closing double quote");
    }
    ++at_;
    skip_space();
    return result;
  }
  /// Digits with a point or an exponent are a real.
  NotationNode number() {
    const std::size_t begin = at_;
    bool is_real = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool is_sign =
          (c == '-' || c == '+') && at_ > begin && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !is_sign) {
        break;
      }
      is_real = is_real || !is_digit(c);
      ++at_;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    if (digits.empty() || at_name()) {
      failed_at(begin, "a number");
    }
    NotationNode made;
    made.kind = is_real ? NotationKind::real : NotationKind::integer;
    made.at = begin;
    if (is_real) {
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), made.real);
      if (error != std::errc() || end != digits.data() + digits.size()) {
        failed_at(begin, "a number that f64 can hold");
      }
    } else {
      for (char c : digits) {
        if (made.is_beyond || __builtin_mul_overflow(made.integer, 10, &made.integer) ||
            __builtin_sub_overflow(made.integer, c - '0', &made.integer)) {
          failed_at(begin, "an integer of 64 bits");
        }
      }
      made.is_beyond = made.integer == INT64_MIN;
      made.integer = made.is_beyond ? INT64_MIN : -made.integer;
    }
    skip_space();
    return made;
  }
  bool at_end() const { return at_ == text_.size(); }
  bool at_digit() const { return !at_end() && is_digit(text_[at_]); }
  /// The character that stands here, 0 at the end.
  char next() const { return at_end() ? '\0' : text_[at_]; }
  std::size_t at() const { return at_; }
  void return_to(std::size_t at) { at_ = at; }

 private:
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') {
          ++at_;
        }
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tensorsmith::te::detail
