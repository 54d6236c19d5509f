// TextWriter: appends lines with indentation to a string.
//
// Floor 0. Own design. Numbers are written the same way on every machine and in every locale.
// Not here: what is written.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tensorsmith {

/// Shortest decimal text that reads back as `value`; always recognisable as a real number ("2.0").
inline std::string text_of_real(double value) {
  if (value != value) {
    return "nan";
  }
  if (value - value != 0.0) {
    return value > 0 ? "inf" : "-inf";
  }
  char digits[40];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), value);
  std::string text(digits, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
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
