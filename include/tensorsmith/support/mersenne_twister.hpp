// SPDX-License-Identifier: Apache-2.0
// The 32-bit Mersenne Twister mt19937, the generator that the Ansor reference draws with.
//
// Floor 0. Matsumoto and Nishimura, ACM TOMACS 8(1), 1998; the seeding of 2002, as in the C++
// standard library, whose <random> is too heavy for a header. A generator has one order of draws:
// for everything but comparisons with the reference take support/rng.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensorsmith/support/assert.hpp"

namespace tensorsmith {

class MersenneTwister {
 public:
  explicit MersenneTwister(std::uint32_t seed = 5489) {
    words_[0] = seed;
    for (std::uint32_t i = 1; i < size; ++i) {
      words_[i] = 1812433253U * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
    }
  }

  std::uint32_t next_u32() {
    if (next_ == size) {
      twist();
    }
    std::uint32_t y = words_[next_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680U;
    y ^= (y << 15) & 0xEFC60000U;
    return y ^ (y >> 18);
  }
  /// In [0, n), n > 0: the remainder, as the reference takes it, bias included.
  std::uint32_t next_below(std::uint32_t n) {
    TENSORSMITH_ASSERT(n > 0, "next_below(0)");
    return next_u32() % n;
  }

 private:
  static constexpr std::size_t size = 624;

  void twist() {
    constexpr std::size_t middle = 397;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint32_t y = (words_[i] & 0x80000000U) | (words_[(i + 1) % size] & 0x7FFFFFFFU);
      words_[i] = words_[(i + middle) % size] ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908B0DFU : 0U);
    }
    next_ = 0;
  }

  std::uint32_t words_[size];
  std::size_t next_ = size;
};

}  // namespace tensorsmith
