// SPDX-License-Identifier: Apache-2.0
// GrowingTable<T>: items that threads look up and add without locks, and that stay.
//
// Floor 0. Own design: a tree in which every node has an item and goes on by two bits of the hash.
// Two threads that miss the same item at once both make it, and the later one is dropped.
// References to items are valid as long as the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tensorsmith/support/atomic_pointer.hpp"

namespace tensorsmith {

template <class T>
class GrowingTable {
 public:
  ~GrowingTable() { delete root_.load(); }

  /// The item for which is_wanted(item) holds; `make() -> T` is called if there is none. Equal
  /// items have equal hashes; is_wanted() is asked of items with this one only.
  template <class IsWanted, class Make>
  const T& find_or_add(std::uint64_t hash, const IsWanted& is_wanted, const Make& make) {
    AtomicPointer<Node>* place = &root_;
    Node* made = nullptr;
    for (std::uint64_t rest = hash;;) {
      Node* node = place->load();
      if (node == nullptr) {
        if (made == nullptr) {
          made = new Node{make(), hash, {}};
        }
        if (place->compare_exchange(node, made)) {
          return made->item;
        }
      } else if (node->hash == hash && is_wanted(std::as_const(node->item))) {
        delete made;
        return node->item;
      } else {
        place = &node->below[rest % fan_out];
        rest = rest / fan_out + rest % fan_out * (~std::uint64_t{0} / fan_out + 1);
      }
    }
  }

  std::size_t size() const { return size_of(root_.load()); }

 private:
  static constexpr std::uint64_t fan_out = 4;
  struct Node {
    ~Node() {
      for (const AtomicPointer<Node>& node : below) {
        delete node.load();
      }
    }
    T item;
    std::uint64_t hash;
    AtomicPointer<Node> below[fan_out];
  };
  static std::size_t size_of(const Node* node) {
    if (node == nullptr) {
      return 0;
    }
    std::size_t size = 1;
    for (const AtomicPointer<Node>& below : node->below) {
      size += size_of(below.load());
    }
    return size;
  }

  AtomicPointer<Node> root_;
};

}  // namespace tensorsmith
