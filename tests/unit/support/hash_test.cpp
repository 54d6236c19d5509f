// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/hash.hpp"

#include "support/catch.hpp"

#include <set>

using namespace tensorsmith;

TEST_CASE("hashes are the same on every run and machine") {
  // SplitMix64 with seed 0: its first output (Vigna's splitmix64.c).
  CHECK(hash_mix(0) == 0xe220a8397b1dcdafULL);
  CHECK(hash_text("abc") == hash_text(std::string_view("xabcx").substr(1, 3)));
  static_assert(hash_text("") != hash_text("a"));
}

TEST_CASE("order and value matter, and neighbours do not collide") {
  CHECK(hash_combine(hash_combine(0, 1), 2) != hash_combine(hash_combine(0, 2), 1));
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 100; ++a) {
    for (std::uint64_t b = 0; b < 100; ++b) {
      seen.insert(hash_combine(hash_mix(a), b));
    }
  }
  CHECK(seen.size() == 10000);
}
