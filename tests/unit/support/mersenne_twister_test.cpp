// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/mersenne_twister.hpp"

#include "support/catch.hpp"

namespace tensorsmith {

TEST_CASE("the 10,000th number of seed 5489 is the one the C++ standard names for mt19937") {
  MersenneTwister generator;
  std::uint32_t number = 0;
  for (int i = 0; i < 10000; ++i) {
    number = generator.next_u32();
  }
  CHECK(number == 4123659995U);
}

TEST_CASE("first numbers of seed 1, and remainders") {
  MersenneTwister generator(1), same(1);
  CHECK(generator.next_u32() == 1791095845U);
  CHECK(generator.next_u32() == 4282876139U);
  CHECK(same.next_below(7) == 1791095845U % 7);
  CHECK(same.next_below(1) == 0);
}

}  // namespace tensorsmith
