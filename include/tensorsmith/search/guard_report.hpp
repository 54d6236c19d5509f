// SPDX-License-Identifier: Apache-2.0
// GuardReport: what a search found of advice that it was given.
//
// Floor 7. Own design. Not here: how it is found (guard.hpp).
#pragma once

#include <cstdint>
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

}  // namespace tensorsmith
