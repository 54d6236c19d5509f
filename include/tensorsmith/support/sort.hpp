// SPDX-License-Identifier: Apache-2.0
// Stable sorting of a vector, without the 10,000 lines of <algorithm>.
//
// Floor 0. Own design: insertion sort of runs of 16, then merging from the bottom up. O(n log n)
// comparisons; a list of up to 16 items needs no memory.
#pragma once

#include <utility>
#include <vector>

namespace tensorsmith {

namespace detail {

template <class Items, class Less>
void insertion_sort(Items& items, std::size_t first, std::size_t last, const Less& less) {
  for (std::size_t i = first + 1; i < last; ++i) {
    if (!less(items[i], items[i - 1])) {
      continue;
    }
    auto moving = std::move(items[i]);
    std::size_t at = i;
    for (; at > first && less(moving, items[at - 1]); --at) {
      items[at] = std::move(items[at - 1]);
    }
    items[at] = std::move(moving);
  }
}

/// Appends [first, middle) and [middle, last) of `from`, each sorted, to `to` as one sorted run.
template <class T, class Less>
void merge_runs(std::vector<T>& from, std::size_t first, std::size_t middle, std::size_t last,
                std::vector<T>& to, const Less& less) {
  std::size_t left = first, right = middle;
  while (left < middle || right < last) {
    const bool take_right = left == middle || (right < last && less(from[right], from[left]));
    to.push_back(std::move(from[take_right ? right++ : left++]));
  }
}

}  // namespace detail

/// Ascending in `less`; items of which neither is less keep their order.
template <class T, class Less>
void sort_items(std::vector<T>& items, const Less& less) {
  const std::size_t size = items.size();
  const auto until = [size](std::size_t at) { return at < size ? at : size; };
  std::size_t run = 16;
  for (std::size_t first = 0; first < size; first += run) {
    detail::insertion_sort(items, first, until(first + run), less);
  }
  std::vector<T> merged;
  for (; run < size; run *= 2) {
    merged.clear();
    merged.reserve(size);
    for (std::size_t first = 0; first < size; first += 2 * run) {
      detail::merge_runs(items, first, until(first + run), until(first + 2 * run), merged, less);
    }
    items.swap(merged);
  }
}
/// Of few items in another list than a vector.
template <class Items, class Less>
void sort_few(Items& items, const Less& less) {
  detail::insertion_sort(items, 0, items.size(), less);
}
template <class T>
void sort_items(std::vector<T>& items) {
  sort_items(items, [](const T& a, const T& b) { return a < b; });
}

}  // namespace tensorsmith
