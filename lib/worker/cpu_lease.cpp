// SPDX-License-Identifier: Apache-2.0
#include "cpu_lease.hpp"

#include <cstddef>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tensorsmith {
namespace {

FileDescriptor bind_name(const std::string& name) {
  FileDescriptor holder(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;  // a path that starts with zero is abstract
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!holder.is_open() ||
      ::bind(holder.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return {};
  }
  return holder;
}

}  // namespace

CpuLease::CpuLease() { ::sched_getaffinity(0, sizeof(allowed_), &allowed_); }

bool CpuLease::take() {
  if (holder_.is_open()) {
    return true;
  }
  // From the last core down: the first ones see more interrupts and other people's pinned work.
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (!CPU_ISSET(cpu, &allowed_)) {
      continue;
    }
    FileDescriptor holder =
        bind_name("tensorsmith-cpu-" + std::to_string(::getuid()) + "-" + std::to_string(cpu));
    if (!holder.is_open()) {
      continue;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (::sched_setaffinity(0, sizeof(one), &one) == 0) {
      holder_ = std::move(holder);
      return true;
    }
  }
  return false;
}

void CpuLease::release() {
  if (holder_.is_open()) {
    holder_.reset();
    ::sched_setaffinity(0, sizeof(allowed_), &allowed_);
  }
}

}  // namespace tensorsmith
