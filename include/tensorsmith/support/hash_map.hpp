// SPDX-License-Identifier: Apache-2.0
// HashMap<Key, Value> and HashSet<Key>: they only grow and cannot be iterated, so no result can
// depend on their order. Keys are 32-bit ids, strings or types with a hash().
//
// Floor 0. Own design: open addressing; what memo tables need of std::unordered_map, without the
// 6,000 lines of <unordered_map>. A new key invalidates pointers to values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/hash.hpp"

namespace tensorsmith {

namespace detail {
inline std::uint64_t hash_of_key(std::uint32_t key) { return hash_mix(key); }
inline std::uint64_t hash_of_key(const std::string& key) { return hash_text(key); }
template <class Key>
auto hash_of_key(const Key& key) -> decltype(key.hash()) {
  return key.hash();
}
}  // namespace detail

template <class Key, class Value>
class HashMap {
 public:
  std::size_t size() const { return size_; }
  /// The value of `key`, null if there is none.
  const Value* find(const Key& key) const {
    if (slots_.empty()) {
      return nullptr;
    }
    const Slot& slot = slots_[slot_of(slots_, key)];
    return slot.is_used ? &slot.value : nullptr;
  }
  bool contains(const Key& key) const { return find(key) != nullptr; }
  /// Adds or replaces.
  void set(const Key& key, const Value& value) {
    if ((size_ + 1) * 2 > slots_.size()) {
      grow();
    }
    Slot& slot = slots_[slot_of(slots_, key)];
    if (!slot.is_used) {
      slot.key = key;
      slot.is_used = true;
      ++size_;
    }
    slot.value = value;
  }

 private:
  struct Slot {
    Key key{};
    Value value{};
    bool is_used = false;
  };
  /// Where `key` is or belongs: it or the first free place from where its hash points.
  static std::size_t slot_of(const std::vector<Slot>& slots, const Key& key) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = detail::hash_of_key(key) & mask;
    while (slots[at].is_used && !(slots[at].key == key)) {
      at = (at + 1) & mask;
    }
    return at;
  }
  void grow() {
    std::vector<Slot> larger(slots_.empty() ? 16 : slots_.size() * 2);
    for (Slot& slot : slots_) {
      if (slot.is_used) {
        const std::size_t at = slot_of(larger, slot.key);
        larger[at] = std::move(slot);
      }
    }
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t size_ = 0;
};

/// Keys alone.
template <class Key>
class HashSet {
 public:
  std::size_t size() const { return keys_.size(); }
  bool contains(const Key& key) const { return keys_.contains(key); }
  /// Whether it is new.
  bool insert(const Key& key) {
    if (contains(key)) {
      return false;
    }
    keys_.set(key, true);
    return true;
  }

 private:
  HashMap<Key, bool> keys_;
};

}  // namespace tensorsmith
