// SPDX-License-Identifier: Apache-2.0
// The short algorithms that the public headers need, without the 10,000 lines of <algorithm>.
//
// Floor 0. On whole lists (anything with begin() and end()). Sorting: support/sort.hpp.
#pragma once

#include <cstddef>

namespace tensorsmith {

/// The first of the least values.
template <class T>
constexpr T smaller_of(T a, T b) {
  return b < a ? b : a;
}
/// The first of the greatest values.
template <class T>
constexpr T larger_of(T a, T b) {
  return a < b ? b : a;
}

/// The first item that `matches`, null if none does.
template <class List, class Predicate>
constexpr auto find_item(List& list, const Predicate& matches) -> decltype(&*list.begin()) {
  for (auto& item : list) {
    if (matches(item)) {
      return &item;
    }
  }
  return nullptr;
}

template <class List, class Predicate>
constexpr bool any_item(const List& list, const Predicate& matches) {
  return find_item(list, matches) != nullptr;
}
template <class List, class Predicate>
constexpr bool all_items(const List& list, const Predicate& matches) {
  return find_item(list, [&](const auto& item) { return !matches(item); }) == nullptr;
}
template <class List, class Predicate>
constexpr std::size_t count_items(const List& list, const Predicate& matches) {
  std::size_t count = 0;
  for (const auto& item : list) {
    count += matches(item) ? 1 : 0;
  }
  return count;
}
template <class List, class T>
constexpr bool has_item(const List& list, const T& value) {
  return any_item(list, [&](const auto& item) { return item == value; });
}

/// Same length, equal items.
template <class A, class B>
constexpr bool equal_items(const A& a, const B& b) {
  if (a.size() != b.size()) {
    return false;
  }
  auto other = b.begin();
  for (const auto& item : a) {
    if (!(item == *other)) {
      return false;
    }
    ++other;
  }
  return true;
}

}  // namespace tensorsmith
