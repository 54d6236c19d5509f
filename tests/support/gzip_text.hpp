// SPDX-License-Identifier: Apache-2.0
// gzip without compression: what a reader of gzip must take, made without a library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tensorsmith::test {

inline std::string little_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>((value >> (8 * i)) & 0xFF);
  }
  return text;
}

/// RFC 1952: a header, stored blocks of RFC 1951, the checksum and the length.
inline std::string gzip_text(std::string_view text) {
  std::string packed("\x1F\x8B\x08\0\0\0\0\0\0\xFF", 10);
  std::uint32_t checksum = 0xFFFFFFFF;
  for (const char c : text) {
    checksum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      checksum = (checksum >> 1) ^ ((checksum & 1) != 0 ? 0xEDB88320u : 0u);
    }
  }
  const auto length = static_cast<std::uint32_t>(text.size());
  do {
    const std::string_view block = text.substr(0, 60'000);
    text.remove_prefix(block.size());
    const auto size = static_cast<std::uint32_t>(block.size());
    packed += text.empty() ? '\1' : '\0';
    packed += little_endian(size, 2) + little_endian(~size, 2);
    packed += block;
  } while (!text.empty());
  return packed + little_endian(~checksum, 4) + little_endian(length, 4);
}

}  // namespace tensorsmith::test
