// SPDX-License-Identifier: Apache-2.0
// The definitions of md5.hpp.
//
// Floor 2. Included by te/md5.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensorsmith/te/md5.hpp"

namespace tensorsmith::te {

namespace detail {

using Md5State = std::uint32_t[4];

inline void md5_block(Md5State& state, const unsigned char* block) {
  // floor(2^32 * |sin(i + 1)|), RFC 1321 sec. 3.4
  static constexpr std::uint32_t sines[64] = {
      0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
      0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
      0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
      0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
      0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
      0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
      0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
      0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
      0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
      0xeb86d391};
  static constexpr std::uint32_t shifts[16] = {7, 12, 17, 22, 5, 9,  14, 20,
                                               4, 11, 16, 23, 6, 10, 15, 21};
  std::uint32_t words[16] = {};
  for (std::size_t i = 0; i < 64; ++i) {
    words[i / 4] |= static_cast<std::uint32_t>(block[i]) << (8 * (i % 4));
  }
  auto [a, b, c, d] = state;
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint32_t mixed, word;
    switch (i / 16) {
    case 0:
      mixed = (b & c) | (~b & d);
      word = i;
      break;
    case 1:
      mixed = (d & b) | (~d & c);
      word = (5 * i + 1) % 16;
      break;
    case 2:
      mixed = b ^ c ^ d;
      word = (3 * i + 5) % 16;
      break;
    default:
      mixed = c ^ (b | ~d);
      word = (7 * i) % 16;
      break;
    }
    const std::uint32_t sum = a + mixed + sines[i] + words[word];
    const std::uint32_t shift = shifts[(i / 16) * 4 + i % 4];
    a = d;
    d = c;
    c = b;
    b += (sum << shift) | (sum >> (32 - shift));
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

}  // namespace detail

TENSORSMITH_INLINE std::string md5_hex(std::string_view text) {
  std::string bytes(text);
  bytes += static_cast<char>(0x80);
  while (bytes.size() % 64 != 56) {
    bytes += '\0';
  }
  const std::uint64_t num_bits = static_cast<std::uint64_t>(text.size()) * 8;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>((num_bits >> (8 * i)) & 0xff);
  }
  detail::Md5State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t at = 0; at < bytes.size(); at += 64) {
    detail::md5_block(state, reinterpret_cast<const unsigned char*>(bytes.data()) + at);
  }
  std::string hex;
  for (std::uint32_t word : state) {
    for (int byte = 0; byte < 4; ++byte) {
      const std::uint32_t value = (word >> (8 * byte)) & 0xff;
      hex += "0123456789abcdef"[value >> 4];
      hex += "0123456789abcdef"[value & 15];
    }
  }
  return hex;
}

}  // namespace tensorsmith::te
