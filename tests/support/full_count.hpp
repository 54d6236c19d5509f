// SPDX-License-Identifier: Apache-2.0
// full_count: how many random cases a long series runs.
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

}  // namespace tensorsmith::test
