// SPDX-License-Identifier: Apache-2.0
// GuardedBuffer: memory whose surroundings tell when a kernel leaves it.
//
// Worker only. Layout: inaccessible pages | band of known bytes | data | rest of the last 64 bytes,
// known too | inaccessible pages. So a write next to the data changes a band, and any access
// farther away, or a read past the last cache line, faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace tensorsmith {

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer() { reset(); }

  /// Data is 64-byte aligned and zero. False if the system refuses the memory, or has not
  /// twice as much.
  bool create(std::size_t num_bytes);
  void reset();

  std::span<std::byte> data() const { return {data_, size_}; }
  /// All of the mapping, inaccessible pages included.
  std::span<const std::byte> mapping() const { return {mapping_, mapping_size_}; }

  /// Writes to the data or its bands fault from now on.
  void make_read_only();
  /// May be written to again.
  void make_writable();
  /// Fills the bands anew.
  void mark_bands();
  /// Empty if the bands are as marked, else where they changed ("4 bytes past the end", ...).
  std::string check_bands() const;

 private:
  std::byte* body() const { return mapping_ + guard_size_; }

  std::byte* mapping_ = nullptr;
  std::size_t mapping_size_ = 0;
  std::size_t guard_size_ = 0;  // inaccessible, on each side
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tensorsmith
