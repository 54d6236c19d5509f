// SPDX-License-Identifier: Apache-2.0
// FileDescriptor and SharedMemory: owners of a descriptor and of a mapped memory file.
//
// Private to lib/ and tools/. Linux only (memfd_create). Not here: passing descriptors
// (frame_io.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace tensorsmith {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// What errno of a call for a descriptor says, with the limit that was met. Too many open files is
/// what a limit below the lowest number asked for is called elsewhere.
std::string file_problem(int error);
/// Why SharedMemory::create has just failed, by errno.
std::string shared_memory_problem();

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory() { reset(); }

  /// A new zeroed memory file of that size, mapped for reading and writing; closed on failure.
  static SharedMemory create(const char* name, std::size_t num_bytes);
  /// Maps what a peer sent. Refuses files that are smaller than they claim: reading past the end of
  /// a file kills. The descriptor is owned either way.
  static SharedMemory attach(FileDescriptor fd, std::size_t num_bytes, bool is_writable);

  bool is_mapped() const { return data_ != nullptr; }
  int fd() const { return fd_.get(); }
  std::span<std::byte> bytes() const { return {data_, size_}; }
  void reset();

 private:
  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tensorsmith
