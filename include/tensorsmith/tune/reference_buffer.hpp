// SPDX-License-Identifier: Apache-2.0
// ReferenceBuffer: the memory of an argument while the reference is computed.
//
// Floor 10; compiled in lib/tune. Own design. Large inputs repeat their first values (fill.hpp), so
// their pages are there once and are seen as often as they repeat: of 4 GB some 270 MB are filled.
// Not for kernels that are timed: those read as much memory as they seem to.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "tensorsmith/support/callback.hpp"

namespace tensorsmith {

class ReferenceBuffer {
 public:
  /// Zeros. Throws std::bad_alloc.
  explicit ReferenceBuffer(std::size_t num_bytes);
  /// `fill` is called once, for as many first bytes as it takes; the others are those `period`
  /// bytes before them. Only to be read.
  static ReferenceBuffer repeated(std::size_t num_bytes, std::size_t period,
                                  const Callback<void(std::span<std::byte>)>& fill);
  ReferenceBuffer(ReferenceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
        mapped_(std::exchange(other.mapped_, 0)) {}
  ReferenceBuffer(const ReferenceBuffer&) = delete;
  ReferenceBuffer& operator=(const ReferenceBuffer&) = delete;
  ~ReferenceBuffer();

  std::size_t size() const { return size_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::byte* begin() { return data_; }
  std::byte* end() { return data_ + size_; }
  const std::byte* begin() const { return data_; }
  const std::byte* end() const { return data_ + size_; }

 private:
  ReferenceBuffer() = default;
  /// The same pages again and again; false: it cannot be done here.
  bool map_repeatedly(std::size_t num_bytes, std::size_t pages_bytes,
                      const Callback<void(std::span<std::byte>)>& fill);

  std::byte* data_ = nullptr;
  std::size_t size_ = 0, mapped_ = 0;
};

}  // namespace tensorsmith
