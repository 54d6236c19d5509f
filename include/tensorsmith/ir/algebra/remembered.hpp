// SPDX-License-Identifier: Apache-2.0
// Remembered: results by expression of one pool. RefMap: those that stay true. RefSet: some
// expressions of one.
//
// Floor 1. Own design. All are arrays by the number of an expression. Not here: when what is
// remembered is no longer true (Pool::new_version).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/node.hpp"

namespace tensorsmith::algebra {

/// What was found for each expression while something else than itself did not change: an entry is
/// valid if it has the version that is asked for.
template <class Result>
class Remembered {
 public:
  const Result* find(Ref ref, std::uint32_t version) const {
    const auto at = static_cast<std::size_t>(ref);
    return at < entries_.size() && entries_[at].version == version ? &entries_[at].result : nullptr;
  }
  void set(Ref ref, std::uint32_t version, const Result& result) {
    const auto at = static_cast<std::size_t>(ref);
    if (at >= entries_.size()) {
      entries_.resize(at + at / 2 + 64);
    }
    entries_[at] = {version, result};
  }

 private:
  struct Entry {
    std::uint32_t version = 0;
    Result result{};
  };
  std::vector<Entry> entries_;
};

template <class Result>
struct RefMap : private Remembered<Result> {
  /// Null if there is none.
  const Result* find(Ref ref) const { return Remembered<Result>::find(ref, 1); }
  /// Adds or replaces.
  void set(Ref ref, const Result& result) { Remembered<Result>::set(ref, 1, result); }
};

class RefSet {
 public:
  /// Whether it is new.
  bool insert(Ref ref) {
    const auto at = static_cast<std::size_t>(ref);
    if (at >= has_.size()) {
      has_.resize(at + at / 2 + 64);
    }
    const bool is_new = !has_[at];
    has_[at] = true;
    return is_new;
  }

 private:
  std::vector<bool> has_;
};

}  // namespace tensorsmith::algebra
