// SPDX-License-Identifier: Apache-2.0
#include "measure/shared_memory.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tensorsmith {

std::string file_problem(int error) {
  rlimit limit = {};
  if (error == EMFILE || error == EINVAL) {
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return "too many open files; this process may have " + std::to_string(limit.rlim_cur) +
           " (ulimit -n)";
  }
  if (error == EFBIG) {
    ::getrlimit(RLIMIT_FSIZE, &limit);
    return "its files, of which memory is one, may have " + std::to_string(limit.rlim_cur) +
           " bytes (ulimit -f)";
  }
  return std::strerror(error);
}

std::string shared_memory_problem() {
  return "cannot create shared memory: " + file_problem(errno);
}

void FileDescriptor::reset(int fd) {
  if (fd_ >= 0) {
    ::close(fd_);
  }
  fd_ = fd;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::move(other.fd_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void SharedMemory::reset() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
  data_ = nullptr;
  size_ = 0;
  fd_.reset();
}

SharedMemory SharedMemory::create(const char* name, std::size_t num_bytes) {
  FileDescriptor fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.is_open() || num_bytes == 0 ||
      ::ftruncate(fd.get(), static_cast<off_t>(num_bytes)) != 0) {
    return {};
  }
  return attach(std::move(fd), num_bytes, true);
}

SharedMemory SharedMemory::attach(FileDescriptor fd, std::size_t num_bytes, bool is_writable) {
  struct stat info = {};
  if (!fd.is_open() || num_bytes == 0 || ::fstat(fd.get(), &info) != 0 || info.st_size < 0 ||
      static_cast<std::size_t>(info.st_size) < num_bytes) {
    return {};
  }
  void* const data = ::mmap(nullptr, num_bytes, is_writable ? PROT_READ | PROT_WRITE : PROT_READ,
                            MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    return {};
  }
  SharedMemory memory;
  memory.fd_ = std::move(fd);
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = num_bytes;
  return memory;
}

}  // namespace tensorsmith
