// SPDX-License-Identifier: Apache-2.0
// full_count, goes_on: how many random cases a series runs.
//
// Test support. TENSORSMITH_TEST_FULL=1 asks for all of them, in every build; else the number is
// what a usual run of the tests has time for.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tensorsmith::test {

inline std::uint32_t full_count(std::uint32_t usual, std::uint32_t all) {
  const char* const wanted = std::getenv("TENSORSMITH_TEST_FULL");
  return wanted != nullptr && *wanted == '1' ? all : usual;
}

/// Whether a series of `count` random cases goes on with case `number`: past its end too, up to
/// eight times as far, while it `lacks` what it is about, which a few cases of some seeds do.
inline bool goes_on(std::uint32_t number, std::uint32_t count, bool lacks) {
  return number < count || (lacks && number < 8 * count);
}

}  // namespace tensorsmith::test
