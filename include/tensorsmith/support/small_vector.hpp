// SPDX-License-Identifier: Apache-2.0
// A vector that keeps its first N elements inside itself.
//
// Floor 0. Own design, for trivially copyable elements only (ids, integers): index lists, split
// lengths and operands are short, and states are copied a million times in a search.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> items) { assign(items.begin(), items.end()); }
  explicit SmallVector(std::size_t count, T value = T{}) { resize(count, value); }
  template <class Iterator, class = decltype(*std::declval<Iterator>())>
  SmallVector(Iterator first, Iterator last) {
    assign(first, last);
  }
  SmallVector(const SmallVector& other) { assign(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      size_ = 0;
      assign(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ != nullptr ? heap_ : inline_data(); }
  const T* data() const { return heap_ != nullptr ? heap_ : inline_data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) {
    TENSORSMITH_ASSERT(i < size_, "SmallVector index out of range");
    return data()[i];
  }
  const T& operator[](std::size_t i) const {
    TENSORSMITH_ASSERT(i < size_, "SmallVector index out of range");
    return data()[i];
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void pop_back() {
    TENSORSMITH_ASSERT(size_ > 0, "pop_back of an empty SmallVector");
    --size_;
  }
  void clear() { size_ = 0; }
  void resize(std::size_t count, T value = T{}) {
    reserve(count);
    for (std::size_t i = size_; i < count; ++i) {
      data()[i] = value;
    }
    size_ = static_cast<std::uint32_t>(count);
  }
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    for (; first != last; ++first) {
      push_back(*first);
    }
  }
  void insert(std::size_t position, T value) {
    push_back(value);
    for (std::size_t i = size_ - 1; i > position; --i) {
      data()[i] = data()[i - 1];
    }
    data()[position] = value;
  }
  void erase(std::size_t position) {
    for (std::size_t i = position; i + 1 < size_; ++i) {
      data()[i] = data()[i + 1];
    }
    pop_back();
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size() != b.size()) {
      return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(a.data()[i] == b.data()[i])) {
        return false;
      }
    }
    return true;
  }
  /// Lexicographical.
  friend std::strong_ordering operator<=>(const SmallVector& a, const SmallVector& b) {
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (const auto order = a.data()[i] <=> b.data()[i]; order != 0) {
        return order;
      }
    }
    return a.size() <=> b.size();
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  const T* inline_data() const { return reinterpret_cast<const T*>(inline_); }
  void reserve(std::size_t count) {
    if (count <= capacity_) {
      return;
    }
    const std::size_t doubled = std::size_t{capacity_} * 2;
    const std::size_t capacity = count > doubled ? count : doubled;
    T* grown = static_cast<T*>(::operator new(capacity * sizeof(T)));
    if (size_ > 0) {
      math::copy_bytes(grown, data(), size_ * sizeof(T));
    }
    if (heap_ != nullptr) {
      ::operator delete(heap_);
    }
    heap_ = grown;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void take(SmallVector& other) {
    size_ = other.size_;
    if (other.heap_ != nullptr) {
      heap_ = other.heap_;
      capacity_ = other.capacity_;
      other.heap_ = nullptr;
      other.capacity_ = N;
    } else if (size_ > 0) {
      math::copy_bytes(inline_, other.inline_, size_ * sizeof(T));
    }
    other.size_ = 0;
  }
  void release() {
    if (heap_ != nullptr) {
      ::operator delete(heap_);
      heap_ = nullptr;
      capacity_ = N;
    }
    size_ = 0;
  }

  T* heap_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace tensorsmith
