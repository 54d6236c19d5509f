// SPDX-License-Identifier: Apache-2.0
// Extents that the reference leaves as expressions, as the largest number they reach.
//
// Test support. Where the region of an attached stage varies from iteration to iteration, the
// reference has "rw_outer % 2 + 1" where infer_bounds gives the largest value.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tensorsmith::test {

namespace detail {

/// Evaluates +, -, *, // and % over integers and variables, as Python does for numbers >= 0.
class ExtentReader {
 public:
  ExtentReader(const std::string& text, std::map<std::string, std::int64_t>& variables)
      : text_(text), variables_(variables) {}
  std::int64_t read() {
    const std::int64_t value = sum();
    if (next() != '\0') {
      throw std::runtime_error("cannot read the extent " + text_);
    }
    return value;
  }

 private:
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::int64_t sum() {
    std::int64_t value = product();
    while (next() == '+' || next() == '-') {
      const bool is_plus = text_[at_++] == '+';
      value += is_plus ? product() : -product();
    }
    return value;
  }
  std::int64_t product() {
    std::int64_t value = atom();
    for (;;) {
      if (next() == '*') {
        ++at_;
        value *= atom();
      } else if (next() == '%') {
        ++at_;
        value %= atom();
      } else if (next() == '/') {
        at_ += 2;
        value /= atom();
      } else {
        return value;
      }
    }
  }
  std::int64_t atom() {
    if (next() == '(') {
      ++at_;
      const std::int64_t value = sum();
      if (next() != ')') {
        throw std::runtime_error("cannot read the extent " + text_);
      }
      ++at_;
      return value;
    }
    std::string word;
    for (; at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_');
         ++at_) {
      word += text_[at_];
    }
    if (word.empty()) {
      throw std::runtime_error("cannot read the extent " + text_);
    }
    return std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? std::stoll(word)
                                                                  : variables_[word];
  }

  const std::string& text_;
  std::map<std::string, std::int64_t>& variables_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Over all values below 32 of its variables: enough for the remainders that stand in extents.
inline std::int64_t largest_extent(const std::string& text) {
  std::map<std::string, std::int64_t> variables;
  std::int64_t largest = detail::ExtentReader(text, variables).read();
  for (bool is_done = variables.empty(); !is_done;) {
    is_done = true;
    for (auto& [name, value] : variables) {  // counts up, the variables being the digits
      value = (value + 1) % 32;
      if (value != 0) {
        is_done = false;
        break;
      }
    }
    largest = std::max(largest, detail::ExtentReader(text, variables).read());
  }
  return largest;
}
inline std::int64_t largest_extent(const nlohmann::json& extent) {
  return extent.is_string() ? largest_extent(extent.get<std::string>())
                            : extent.get<std::int64_t>();
}

}  // namespace tensorsmith::test
