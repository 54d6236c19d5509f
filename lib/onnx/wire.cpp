// SPDX-License-Identifier: Apache-2.0
#include "onnx/wire.hpp"

#include <cstring>

namespace tensorsmith::onnx {

bool WireReader::read_varint(std::uint64_t& value) {
  value = 0;
  for (std::uint32_t shift = 0; shift < 70; shift += 7) {
    if (rest_.empty()) {
      return false;
    }
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) {
      return false;  // more than 64 bits
    }
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) {
      return true;
    }
  }
  return false;
}

bool WireReader::next(WireField& field) {
  if (rest_.empty()) {
    return false;
  }
  std::uint64_t key = 0;
  if (!read_varint(key) || key > UINT32_MAX || (key >> 3) == 0) {
    return damage();
  }
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.type = static_cast<WireType>(key & 7U);
  field.bytes = {};
  const auto read_fixed = [&](std::size_t size) {
    if (rest_.size() < size) {
      return damage();
    }
    field.value = 0;
    std::memcpy(&field.value, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  };
  switch (field.type) {
  case WireType::varint:
    return read_varint(field.value) || damage();
  case WireType::fixed64:
    return read_fixed(8);
  case WireType::fixed32:
    return read_fixed(4);
  case WireType::bytes: {
    std::uint64_t size = 0;
    if (!read_varint(size) || size > rest_.size()) {
      return damage();
    }
    field.value = size;
    field.bytes = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return true;
  }
  default:
    return damage();
  }
}

bool append_integers(const WireField& field, std::vector<std::int64_t>& list) {
  if (field.type == WireType::varint) {
    list.push_back(static_cast<std::int64_t>(field.value));
    return true;
  }
  if (field.type != WireType::bytes) {
    return false;
  }
  std::string_view rest = field.bytes;
  while (!rest.empty()) {
    std::uint64_t value = 0;
    std::uint32_t shift = 0;
    for (;; shift += 7) {
      if (rest.empty() || shift > 63) {
        return false;
      }
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) {
        break;
      }
    }
    list.push_back(static_cast<std::int64_t>(value));
  }
  return true;
}

bool append_floats(const WireField& field, std::vector<float>& list) {
  if (field.type == WireType::fixed32) {
    list.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
    return true;
  }
  if (field.type != WireType::bytes || field.bytes.size() % 4 != 0) {
    return false;
  }
  for (std::size_t at = 0; at < field.bytes.size(); at += 4) {
    float value = 0;
    std::memcpy(&value, field.bytes.data() + at, 4);
    list.push_back(value);
  }
  return true;
}

}  // namespace tensorsmith::onnx
