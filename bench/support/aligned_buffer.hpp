// SPDX-License-Identifier: Apache-2.0
// Owned float storage that begins at a page, with deterministic contents.
//
// Own design. Not here: dtypes other than f32.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace tensorsmith::bench {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t count) : size_(count) {
    constexpr std::size_t page = 4096;
    const std::size_t pages = (static_cast<std::size_t>(count) * sizeof(float) + page - 1) / page;
    data_.reset(
        static_cast<float*>(std::aligned_alloc(page, std::max<std::size_t>(pages, 1) * page)));
    if (!data_) {
      throw std::bad_alloc();
    }
    fill(0.0F);
  }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  float& operator[](std::int64_t i) { return data_.get()[i]; }
  float operator[](std::int64_t i) const { return data_.get()[i]; }

  void fill(float value) {
    for (std::int64_t i = 0; i < size_; ++i)
      data_.get()[i] = value;
  }
  /// Uniform in [-1, 1), the same for the same seed everywhere (splitmix64).
  void fill_random(std::uint64_t seed) {
    for (std::int64_t i = 0; i < size_; ++i) {
      std::uint64_t z =
          seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(i + 1) * 0xD1B54A32D192ED03ULL;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
      z ^= z >> 31;
      data_.get()[i] = static_cast<float>(z >> 40) * 0x1p-23F - 1.0F;
    }
  }

 private:
  struct Free {
    void operator()(float* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float, Free> data_;
  std::int64_t size_ = 0;
};

}  // namespace tensorsmith::bench
