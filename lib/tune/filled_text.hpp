// SPDX-License-Identifier: Apache-2.0
// Texts with places for values.
//
// Private to lib/tune.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tensorsmith {

/// The pattern with {0}, {1} ... in place of which the values stand; {{ and }} are braces.
inline std::string filled(std::string_view pattern, std::initializer_list<std::string> values) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if ((c == '{' || c == '}') && next == c) {
      text += c;
      ++i;
    } else if (c == '{') {
      text += values.begin()[next - '0'];
      i += 2;
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace tensorsmith
