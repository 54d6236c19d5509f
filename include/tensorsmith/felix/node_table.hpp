// SPDX-License-Identifier: Apache-2.0
// NodeTable: where equal nodes of a list are, by their hash.
//
// Floor 6.5. Own design: open addressing over places in a list that somebody else owns, so one
// table serves pools of formulas and the e-graph, whose nodes have different types.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith::felix {

/// Of an operator, three numbers and a value.
inline std::uint64_t hash_of_parts(std::uint64_t op, const std::uint32_t (&args)[3], double value) {
  std::uint64_t hash = hash_combine(op, math::bit_cast<std::uint64_t>(value));
  for (std::uint32_t arg : args) {
    hash = hash_combine(hash, arg);
  }
  return hash;
}

class NodeTable {
 public:
  /// The place in `list` of what is the same as `item`; appended if there is none.
  template <class List, class Item, class Same>
  std::uint32_t intern(std::uint64_t hash, List& list, const Item& item, const Same& same) {
    if ((size_ + 1) * 2 > slots_.size()) {
      grow();
    }
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].place != 0) {
      if (slots_[at].hash == hash && same(list[slots_[at].place - 1], item)) {
        return slots_[at].place - 1;
      }
      at = (at + 1) & mask;
    }
    list.push_back(item);
    slots_[at] = {hash, static_cast<std::uint32_t>(list.size())};
    ++size_;
    return slots_[at].place - 1;
  }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t place = 0;  ///< one more than the place in the list; 0: free
  };
  void grow() {
    std::vector<Slot> larger(slots_.empty() ? 64 : slots_.size() * 2);
    for (const Slot& slot : slots_) {
      if (slot.place != 0) {
        std::size_t at = slot.hash & (larger.size() - 1);
        while (larger[at].place != 0) {
          at = (at + 1) & (larger.size() - 1);
        }
        larger[at] = slot;
      }
    }
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace tensorsmith::felix
