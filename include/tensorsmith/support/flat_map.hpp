// SPDX-License-Identifier: Apache-2.0
// FlatMap<Key, Value>: a map in one sorted vector, for few entries. Iterates in order of the keys.
//
// Floor 0. Own design; what the library needs of std::map, without the 16,000 lines of <map>. Any
// insertion or erasure invalidates iterators and references. Order and equality as std::map.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/support/assert.hpp"

namespace tensorsmith {

template <class Key, class Value>
class FlatMap {
 public:
  using value_type = std::pair<Key, Value>;
  using iterator = typename std::vector<value_type>::iterator;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }

  iterator find(const Key& key) {
    const std::size_t at = place_of(key);
    return holds(at, key) ? begin() + static_cast<std::ptrdiff_t>(at) : end();
  }
  const_iterator find(const Key& key) const {
    const std::size_t at = place_of(key);
    return holds(at, key) ? begin() + static_cast<std::ptrdiff_t>(at) : end();
  }
  /// The first entry whose key is not less than `key`.
  const_iterator lower_bound(const Key& key) const {
    return begin() + static_cast<std::ptrdiff_t>(place_of(key));
  }
  bool contains(const Key& key) const { return holds(place_of(key), key); }
  std::size_t count(const Key& key) const { return contains(key) ? 1 : 0; }
  /// Only if there is one.
  const Value& at(const Key& key) const {
    const std::size_t at = place_of(key);
    TENSORSMITH_ASSERT(holds(at, key), "no such key");
    return entries_[at].second;
  }
  /// The value of `key`, a new one if there is none.
  Value& operator[](const Key& key) { return emplace(key, Value()).first->second; }
  /// Adds the entry unless `key` has one; says where it is and whether it is new.
  std::pair<iterator, bool> emplace(const Key& key, Value value) {
    const std::size_t at = place_of(key);
    const auto place = begin() + static_cast<std::ptrdiff_t>(at);
    if (holds(at, key)) {
      return {place, false};
    }
    return {entries_.insert(place, value_type(key, std::move(value))), true};
  }
  void erase(iterator place) { entries_.erase(place); }
  void erase(const Key& key) {
    if (const iterator place = find(key); place != end()) {
      entries_.erase(place);
    }
  }
  void clear() { entries_.clear(); }

  bool operator==(const FlatMap&) const = default;

 private:
  /// Where `key` is or would be.
  std::size_t place_of(const Key& key) const {
    std::size_t low = 0, high = entries_.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (entries_[middle].first < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  bool holds(std::size_t at, const Key& key) const {
    return at < entries_.size() && !(key < entries_[at].first);
  }

  std::vector<value_type> entries_;  // ascending keys
};

}  // namespace tensorsmith
