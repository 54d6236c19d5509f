// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cuda/device_lease.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/shared_memory.hpp"

namespace tensorsmith::cuda {

DeviceLease::DeviceLease() = default;
DeviceLease::~DeviceLease() = default;
void DeviceLease::release() { file_ = {}; }

std::string DeviceLease::take(const std::string& uuid, const std::string& name) {
  const char* const shared = std::getenv("TENSORSMITH_SHARE_GPU");
  if (shared != nullptr && std::strcmp(shared, "1") == 0) {
    return {};
  }
  const char* const folder = std::getenv("TENSORSMITH_LEASE_FOLDER");
  const std::string path = std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") +
                           "/tensorsmith-" + uuid + ".lock";
  // Everybody's, so that users meet at the same file. A link in its place is not followed. Where
  // it is there, it is not to be made: systems refuse that in /tmp for files of other users.
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  FileDescriptor file(::open(path.c_str(), flags));
  if (!file.is_open()) {
    file = FileDescriptor(::open(path.c_str(), flags | O_CREAT, 0666));
  }
  if (!file.is_open()) {
    return "the lock file " + path + " of " + name + " cannot be opened: " + std::strerror(errno) +
           "; set TENSORSMITH_LEASE_FOLDER to a folder that can be written";
  }
  ::fchmod(file.get(), 0666);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t size = ::pread(file.get(), holder, sizeof(holder) - 1, 0);
    const std::string pid(holder, size > 0 ? static_cast<std::size_t>(size) : 0);
    return name + " is measured on by another tuner" +
           (pid.empty() ? std::string() : " (process " + pid + ")") +
           ": wait until it has ended, or set TENSORSMITH_SHARE_GPU=1 if times may be wrong";
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return "the lock file " + path + " of " + name + " cannot be written: " + std::strerror(errno);
  }
  file_ = make_owned<FileDescriptor>(std::move(file));
  return {};
}

}  // namespace tensorsmith::cuda
