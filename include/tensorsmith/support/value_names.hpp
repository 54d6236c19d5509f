// SPDX-License-Identifier: Apache-2.0
// Names of the values of a closed set: one list, which printing, reading and help all use.
//
// Floor 0. Own design. Not here: sets that users add to (tune/methods.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tensorsmith {

template <class Enum>
struct ValueName {
  Enum value;
  std::string_view name;
};

/// Empty for a value that the list leaves out.
template <class Enum, std::size_t N>
constexpr std::string_view name_in(const std::array<ValueName<Enum>, N>& names, Enum value) {
  for (const ValueName<Enum>& one : names) {
    if (one.value == value) {
      return one.name;
    }
  }
  return {};
}

/// Nothing for a name that is none of them.
template <class Enum, std::size_t N>
constexpr std::optional<Enum> value_in(const std::array<ValueName<Enum>, N>& names,
                                       std::string_view name) {
  for (const ValueName<Enum>& one : names) {
    if (one.name == name) {
      return one.value;
    }
  }
  return std::nullopt;
}

/// "racing, reference": the names of a list of anything that has one.
template <class List>
std::string names_text(const List& list) {
  std::string text;
  for (const auto& one : list) {
    text.append(text.empty() ? "" : ", ").append(one.name);
  }
  return text;
}

}  // namespace tensorsmith
