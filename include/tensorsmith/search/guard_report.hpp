// SPDX-License-Identifier: Apache-2.0
// GuardReport: what a search found of advice that it was given.
//
// Floor 7. Own design. Not here: how it is found (guard.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tensorsmith {

/// What a guard found, for people.
struct GuardReport {
  std::string_view name;         ///< of the advice; a literal
  std::int64_t num_with = 0;     ///< trials with the advice ...
  std::int64_t num_without = 0;  ///< ... and those to compare them with
  /// Over pairs of one batch: the share in which the program with the advice was faster, less the
  /// share in which the other one was; -1 .. 1.
  double advantage = 0;
  bool is_given_up = false;  ///< at the end
  std::uint32_t times_given_up = 0;
};

/// An array of objects. `Json` is nlohmann's, which no header of the library includes.
template <class Json>
Json guards_json(std::span<const GuardReport> guards) {
  Json array = Json::array();
  for (const GuardReport& guard : guards) {
    array.push_back({{"name", guard.name},
                     {"trials_with", guard.num_with},
                     {"trials_without", guard.num_without},
                     {"advantage", guard.advantage},
                     {"given_up", guard.is_given_up},
                     {"times_given_up", guard.times_given_up}});
  }
  return array;
}

}  // namespace tensorsmith
