// SPDX-License-Identifier: Apache-2.0
// GrowingList<T>: items that threads look up and add without locks, and that stay.
//
// Floor 0. Own design. Two threads that miss the same item at once both make it, and the later one
// is dropped. References to items are valid as long as the list.
#pragma once

#include <cstdint>
#include <utility>

#include "tensorsmith/support/atomic_pointer.hpp"

namespace tensorsmith {

template <class T>
class GrowingList {
 public:
  ~GrowingList() {
    for (const Link* link = first_.load(); link != nullptr;) {
      delete std::exchange(link, link->next);
    }
  }

  /// The item for which is_wanted(item) holds; `make() -> T` is called if there is none.
  template <class IsWanted, class Make>
  const T& find_or_add(const IsWanted& is_wanted, const Make& make) {
    const Link* checked = first_.load();
    if (const Link* found = find(checked, nullptr, is_wanted)) {
      return found->item;
    }
    Link* const link = new Link{make(), checked};
    while (!first_.compare_exchange(link->next, link)) {
      if (const Link* found = find(link->next, checked, is_wanted)) {
        delete link;
        return found->item;
      }
      checked = link->next;
    }
    return link->item;
  }

  std::size_t size() const {
    std::size_t count = 0;
    for (const Link* link = first_.load(); link != nullptr; link = link->next) {
      ++count;
    }
    return count;
  }

 private:
  struct Link {
    T item;
    const Link* next;
  };
  template <class IsWanted>
  static const Link* find(const Link* from, const Link* end, const IsWanted& is_wanted) {
    while (from != end && !is_wanted(from->item)) {
      from = from->next;
    }
    return from != end ? from : nullptr;
  }

  AtomicPointer<const Link> first_;
};

}  // namespace tensorsmith
