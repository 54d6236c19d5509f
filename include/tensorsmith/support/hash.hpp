// SPDX-License-Identifier: Apache-2.0
// Stable 64-bit hashing: equal on every run, machine and standard library.
//
// Floor 0. Mixer: the finalizer of SplitMix64 (Steele et al., OOPSLA 2014). Not cryptographic.
#pragma once

#include <cstdint>
#include <string_view>

namespace tensorsmith {

constexpr std::uint64_t hash_mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  return hash_mix(seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2)));
}

constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a, then mixed
  for (char c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash_mix(h);
}

}  // namespace tensorsmith
