// SPDX-License-Identifier: Apache-2.0
// TextMutator: damages a text the way files and users do: bytes changed, cut, doubled, exchanged
// with those of another text, numbers and brackets where none belong.
//
// Test support, for the tests of readers in tests/fuzz.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

class TextMutator {
 public:
  /// `tokens`: pieces that mean something to the reader.
  TextMutator(std::uint64_t seed, std::vector<std::string> tokens)
      : random_(seed), tokens_(std::move(tokens)) {}

  std::string mutate(std::string text, const std::string& other) {
    for (std::size_t count = 1 + below(4); count > 0; --count) {
      switch (below(6)) {
      case 0:
        if (!text.empty()) {
          text[below(text.size())] = static_cast<char>(below(256));
        }
        break;
      case 1:
        if (!text.empty()) {
          text.erase(below(text.size()), 1 + below(20));
        }
        break;
      case 2:
        text.insert(below(text.size() + 1), tokens_[below(tokens_.size())]);
        break;
      case 3:  // a part of another text
        text.insert(below(text.size() + 1), other.substr(below(other.size() + 1), below(60)));
        break;
      case 4:
        text.resize(below(text.size() + 1));
        break;
      default:
        replace_digit(text);
      }
    }
    return text;
  }
  /// The same of one of `texts` with another of them.
  std::string mutate_one(const std::vector<std::string>& texts) {
    const std::string& text = texts[below(texts.size())];
    return mutate(text, texts[below(texts.size())]);
  }
  /// One digit becomes another number, mostly a small one.
  void replace_digit(std::string& text) {
    const std::size_t at = text.find_first_of("0123456789", below(text.size() + 1));
    if (at == std::string::npos) {
      return;
    }
    const auto any = static_cast<std::int64_t>(random_.next_u64());
    const std::int64_t values[] = {any, any % 20, any % 1000, any % 5 - 2};
    text.replace(at, 1, std::to_string(values[below(4)]));
  }
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_.next_u64() % bound);
  }

 private:
  CounterRng random_;
  std::vector<std::string> tokens_;
};

/// Tokens of JSON.
inline std::vector<std::string> json_tokens() {
  return {"[",     "]",   "{",  "}",      ",",          ":",       "\"",    "\\", "null", "-1",
          "1e999", "0.5", "[[", "\"SP\"", "2147483648", "[\"FU\"", "\\u00", "\n", "true"};
}

/// Calls `round` `least` times, and on for the seconds that TENSORSMITH_FUZZ_SECONDS says. How
/// often it was called.
template <class Round>
std::size_t fuzz(std::size_t least, const Round& round) {
  const char* seconds = std::getenv("TENSORSMITH_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 0);
  std::size_t count = 0;
  for (; count < least || std::chrono::steady_clock::now() < end; ++count) {
    round();
  }
  return count;
}

}  // namespace tensorsmith::test
