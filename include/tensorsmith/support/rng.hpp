// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: the n-th draw is a pure function of the key and n.
//
// Floor 0. Philox4x32-10 (Salmon et al., SC 2011). Two generators with different keys are
// independent streams, so a candidate's draws depend on (seed, task, round, candidate) and on
// nothing else: not on thread count, not on the order of work.
#pragma once

#include <cstdint>
#include <utility>

#include "tensorsmith/support/assert.hpp"

namespace tensorsmith {

class CounterRng {
 public:
  CounterRng(std::uint64_t seed, std::uint32_t task = 0, std::uint32_t round = 0,
             std::uint32_t candidate = 0)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        counter_{{0, task, round, candidate}} {}

  std::uint32_t next_u32() {
    if (used_ == 4) {
      block_ = philox(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }
  std::uint64_t next_u64() {
    const std::uint64_t low = next_u32();
    return low | (static_cast<std::uint64_t>(next_u32()) << 32);
  }
  /// Uniform in [0, n), n > 0; the bias of the multiplication is below 2^-32 * n.
  std::uint32_t next_below(std::uint32_t n) {
    TENSORSMITH_ASSERT(n > 0, "next_below(0)");
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(next_u32()) * n) >> 32);
  }
  /// Uniform in [0, 1) with 53 bits.
  double next_double() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

  /// Fisher-Yates.
  template <class Container>
  void shuffle(Container& items) {
    for (std::uint32_t i = static_cast<std::uint32_t>(items.size()); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[next_below(i)]);
    }
  }

 private:
  struct Key {
    std::uint32_t words[2];
    std::uint32_t& operator[](int i) { return words[i]; }
  };
  struct Block {
    std::uint32_t words[4];
    std::uint32_t& operator[](int i) { return words[i]; }
  };

  static Block philox(Block c, Key k) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53U) * c[0];
      const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57U) * c[2];
      c = {{static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
            static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)}};
      k[0] += 0x9E3779B9U;
      k[1] += 0xBB67AE85U;
    }
    return c;
  }

  Key key_;
  Block counter_;
  Block block_{};
  int used_ = 4;
};

}  // namespace tensorsmith
