// SPDX-License-Identifier: Apache-2.0
// TakenPrograms: what a policy has proposed or observed, so that nothing is measured twice.
//
// Floor 7. Own design. Programs are told apart by their texts and, where callbacks say what they
// lower to, by that too.
#pragma once

#include <cstddef>
#include <string>

#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith {

class TakenPrograms {
 public:
  bool contains(const std::string& text) const { return texts_.contains(text); }
  /// Marks a program as taken; whether it is new.
  bool claim(const std::string& text, const State& state, const ProgramIdentity& identity) {
    if (!texts_.insert(text)) {
      return false;
    }
    const auto lowered = identity ? identity(state) : std::nullopt;
    const bool is_new = !lowered || lowered_.insert(to_key(*lowered));
    num_equal_ += is_new ? 0 : 1;
    return is_new;
  }
  /// Programs that were new by their text only.
  std::size_t num_equal() const { return num_equal_; }

 private:
  HashSet<std::string> texts_, lowered_;  ///< looked up only
  std::size_t num_equal_ = 0;
};

}  // namespace tensorsmith
