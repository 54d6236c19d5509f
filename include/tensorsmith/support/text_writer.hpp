// SPDX-License-Identifier: Apache-2.0
// TextWriter: appends lines with indentation to a string.
//
// Floor 0. Own design. Numbers are written the same way on every machine and in every locale.
// Not here: what is written.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace tensorsmith {

namespace detail {

/// What printf wrote of a finite real, with a point in every locale.
inline std::string with_point(const char* printed) {
  std::string text;
  bool in_point = false;
  for (; *printed != 0; ++printed) {
    const char c = *printed;
    const bool is_own = (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
    if (is_own) {
      text += c;
    } else if (!in_point) {
      text += '.';  // the locale's point, of one byte or several
    }
    in_point = !is_own;
  }
  return text;
}

/// "d.ddde+xx" with the fewest digits that read back as the value.
struct Decimal {
  std::string text;
  int digits = 1, exponent = 0;
};
inline Decimal shortest_decimal(double value) {
  Decimal d;
  char buffer[40];
  for (;; ++d.digits) {
    const int length = std::snprintf(buffer, sizeof(buffer), "%.*e", d.digits - 1, value);
    if (std::strtod(buffer, nullptr) == value || d.digits == 17) {
      break;
    }
    // A power of two has more room above than below: the next decimal away from zero may do.
    int last = length - 1;
    while (buffer[last] != 'e') {
      --last;
    }
    --last;
    if (buffer[last] != '9') {
      ++buffer[last];
      if (std::strtod(buffer, nullptr) == value) {
        break;
      }
    }
  }
  d.text = with_point(buffer);
  d.exponent = std::atoi(d.text.c_str() + d.text.find('e') + 1);
  return d;
}

}  // namespace detail

/// Shortest decimal text that reads back as `value`; always recognisable as a real number ("2.0").
inline std::string text_of_real(double value) {
  if (value != value) {
    return "nan";
  }
  if (value - value != 0.0) {
    return value > 0 ? "inf" : "-inf";
  }
  const detail::Decimal shortest = detail::shortest_decimal(value);
  const int digits = shortest.digits, exponent = shortest.exponent;
  const int scientific =
      digits + (digits > 1 ? 1 : 0) + (exponent > -100 && exponent < 100 ? 4 : 5);
  const int fixed = exponent < 0             ? digits + 1 - exponent
                    : exponent >= digits - 1 ? exponent + 1
                                             : digits + 1;
  if (fixed > scientific) {
    return shortest.text;
  }
  const int decimals = exponent < digits - 1 ? digits - 1 - exponent : 0;
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.*f", decimals, value);
  return detail::with_point(buffer) + (decimals == 0 ? ".0" : "");
}
/// As %g of printf writes it: at most so many significant digits.
inline std::string text_of_real(double value, int digits) {
  if (value - value != 0.0) {
    return text_of_real(value);
  }
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.*g", digits, value);
  return detail::with_point(buffer);
}

class TextWriter {
 public:
  void indent() { ++depth_; }
  void dedent() { --depth_; }
  /// One line at the present depth.
  void line(std::string_view text) {
    text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
    text_ += text;
    text_ += '\n';
  }
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0;
};

/// "[a, b, c]" of anything with a text function.
template <class List, class TextOf>
std::string bracketed(const List& items, const TextOf& text_of_item) {
  std::string text = "[";
  bool first = true;
  for (const auto& item : items) {
    if (!first) {
      text += ", ";
    }
    first = false;
    text += text_of_item(item);
  }
  return text + "]";
}

}  // namespace tensorsmith
