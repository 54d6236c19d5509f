// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/reference_buffer.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include <sys/mman.h>
#include <unistd.h>

#include "measure/shared_memory.hpp"

namespace tensorsmith {
namespace {

/// Less is filled as quickly as it is mapped.
constexpr std::size_t least_repeated = std::size_t{256} << 20;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

ReferenceBuffer::ReferenceBuffer(std::size_t num_bytes)
    : size_(num_bytes), mapped_(std::max<std::size_t>(num_bytes, 1)) {
  void* const memory =
      ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  data_ = static_cast<std::byte*>(memory);
  if (mapped_ >= 2 * huge_page) {
    (void)::madvise(memory, mapped_, MADV_HUGEPAGE);
  }
}

ReferenceBuffer::~ReferenceBuffer() {
  if (data_ != nullptr) {
    ::munmap(data_, mapped_);
  }
}

ReferenceBuffer ReferenceBuffer::repeated(std::size_t num_bytes, std::size_t period,
                                          const Callback<void(std::span<std::byte>)>& fill) {
  const std::size_t pages = std::lcm(std::max<std::size_t>(period, 1), page_bytes());
  if (num_bytes >= least_repeated && num_bytes >= 2 * pages) {
    ReferenceBuffer buffer;
    if (buffer.map_repeatedly(num_bytes, pages, fill)) {
      return buffer;
    }
  }
  ReferenceBuffer buffer(num_bytes);
  fill({buffer.data(), num_bytes});
  return buffer;
}

bool ReferenceBuffer::map_repeatedly(std::size_t num_bytes, std::size_t pages_bytes,
                                     const Callback<void(std::span<std::byte>)>& fill) {
  const SharedMemory once = SharedMemory::create("tensorsmith-input", pages_bytes);
  if (!once.is_mapped()) {
    return false;
  }
  void* const memory =
      ::mmap(nullptr, num_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  data_ = static_cast<std::byte*>(memory);
  size_ = mapped_ = num_bytes;
  fill(once.bytes());
  for (std::size_t at = 0; at < num_bytes; at += pages_bytes) {
    if (::mmap(data_ + at, std::min(pages_bytes, num_bytes - at), PROT_READ,
               MAP_SHARED | MAP_FIXED | MAP_POPULATE, once.fd(), 0) == MAP_FAILED) {
      return false;  // what there is goes with the object
    }
  }
  return true;
}

}  // namespace tensorsmith
