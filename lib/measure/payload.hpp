// SPDX-License-Identifier: Apache-2.0
// PayloadWriter and PayloadReader: values to bytes and, with every length checked, back.
//
// Private to lib/measure and lib/worker. A message type takes part by a function
// `template <class A> void transfer(A& a, Message& m)` that hands its fields to `a` in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace tensorsmith {

/// Appends values to a payload.
class PayloadWriter {
 public:
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      (*this)(static_cast<std::uint64_t>(value.size()));
      append(value.data(), value.size());
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      append(&value, sizeof(T));
    } else {
      transfer(*this, const_cast<T&>(value));  // reads only
    }
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    (*this)(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) {
      (*this)(value);
    }
  }
  template <class E>
  void enumeration(const E& value, std::size_t) {
    (*this)(value);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    const std::byte* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  std::vector<std::byte> bytes_;
};

/// Takes values from a payload. After a value that does not fit, is_valid() stays false and the
/// rest is left at its defaults.
class PayloadReader {
 public:
  PayloadReader(const std::byte* data, std::size_t size) : data_(data), left_(size) {}

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      const std::size_t size = count(1);
      if (is_valid_) {
        value.assign(reinterpret_cast<const char*>(data_), size);
        skip(size);
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      (*this)(byte);
      is_valid_ = is_valid_ && byte <= 1;
      value = byte == 1;
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (is_valid_ && left_ >= sizeof(T)) {
        std::memcpy(&value, data_, sizeof(T));
        skip(sizeof(T));
      } else {
        is_valid_ = false;
      }
    } else {
      static_assert(!std::is_enum_v<T>, "use enumeration()");
      transfer(*this, value);
    }
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    const std::size_t size = count(1);
    values.clear();
    for (std::size_t i = 0; i < size && is_valid_; ++i) {
      values.emplace_back();
      (*this)(values.back());
    }
  }
  template <class E>
  void enumeration(E& value, std::size_t num_values) {
    std::underlying_type_t<E> number = 0;
    (*this)(number);
    is_valid_ = is_valid_ && static_cast<std::size_t>(number) < num_values;
    value = is_valid_ ? static_cast<E>(number) : E{};
  }
  /// All read, nothing left over.
  bool is_finished() const { return is_valid_ && left_ == 0; }
  bool is_valid() const { return is_valid_; }

 private:
  std::size_t count(std::size_t least_bytes_each) {
    std::uint64_t number = 0;
    (*this)(number);
    is_valid_ = is_valid_ && number <= left_ / least_bytes_each;
    return is_valid_ ? static_cast<std::size_t>(number) : 0;
  }
  void skip(std::size_t size) {
    data_ += size;
    left_ -= size;
  }
  const std::byte* data_;
  std::size_t left_;
  bool is_valid_ = true;
};

}  // namespace tensorsmith
