// SPDX-License-Identifier: Apache-2.0
#include "measure/frame_io.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/control_page.hpp"
#include "tensorsmith/support/hash.hpp"

namespace tensorsmith {

std::int64_t monotonic_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t processor_ns(int pid) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  timespec used = {};
  if ((pid != 0 && ::clock_getcpuclockid(pid, &clock) != 0) || ::clock_gettime(clock, &used) != 0) {
    return -1;
  }
  return static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

std::string check_header(const FrameHeader& header) {
  if (header.magic != protocol_magic) {
    return "not a tensorsmith worker frame";
  }
  if (header.version != protocol_version) {
    return "protocol version " + std::to_string(header.version) + ", expected " +
           std::to_string(protocol_version);
  }
  if (static_cast<std::uint16_t>(header.type) >= num_frame_types) {
    return "unknown frame type " + std::to_string(static_cast<std::uint16_t>(header.type));
  }
  if (header.num_bytes > max_frame_bytes) {
    return "frame of " + std::to_string(header.num_bytes) + " bytes is too long";
  }
  return {};
}

std::uint64_t message_layout() {
  std::uint64_t hash = num_frame_types * 256 + num_measure_statuses;
  const auto add = [&hash](const auto& message) {
    const std::vector<std::byte> bytes = encode(message);
    hash =
        hash_combine(hash, hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  };
  // One item in every list, or the items' fields would not count.
  PrepareRequest prepare;
  prepare.arguments.resize(1);
  prepare.arguments[0].hard.resize(1);
  RankRequest rank;
  rank.candidates.resize(1);
  rank.candidates[0].prepack.packed.resize(1);
  rank.candidates[0].prepack.arguments.resize(1);
  rank.candidates[0].prepack.kernel_arguments.resize(1);
  RankReply ranked;
  ranked.results.resize(1);
  ranked.results[0].samples_ns.resize(1);
  add(prepare), add(rank), add(ranked);
  add(HelloMessage{}), add(StatusReply{}), add(MeasureRequest{}), add(MeasureReply{});
  add(CalibrateRequest{}), add(Calibration{});
  return hash;
}

Deadline deadline_at(std::int64_t moment_ns) {
  return {[moment_ns] { return moment_ns; }, [] { return false; }};
}

namespace {

// How often a wait looks at the caller's wish to stop, and at deadlines that moved.
constexpr std::int64_t stop_poll_ns = 10'000'000;

IoStatus wait_for(int socket, short events, const Deadline& deadline) {
  for (;;) {
    if (deadline.is_stopped()) {
      return IoStatus::stopped;
    }
    const std::int64_t now = monotonic_ns();
    const std::int64_t moment = deadline.moment_ns();
    std::int64_t left = stop_poll_ns;
    if (moment != 0) {
      left = std::min(left, moment - now);
      if (left <= 0) {
        // What has arrived by now still counts.
        pollfd last = {socket, events, 0};
        return ::poll(&last, 1, 0) > 0 ? IoStatus::ok : IoStatus::timeout;
      }
    }
    const timespec pause = {left / 1'000'000'000, static_cast<long>(left % 1'000'000'000)};
    pollfd entry = {socket, events, 0};
    const int ready = ::ppoll(&entry, 1, &pause, nullptr);
    if (ready > 0) {
      return IoStatus::ok;
    }
    if (ready < 0 && errno != EINTR) {
      return IoStatus::closed;
    }
  }
}

// Takes the descriptors out of a message's control data.
void take_fds(msghdr& message, std::vector<FileDescriptor>& fds) {
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr;
       item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
}

IoStatus receive_bytes(int socket, void* data, std::size_t size, std::vector<FileDescriptor>& fds,
                       const Deadline& deadline) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const IoStatus waited = wait_for(socket, POLLIN, deadline);
    if (waited != IoStatus::ok) {
      return waited;
    }
    iovec part = {next, size};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_frame_fds)> control = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) {
      if (errno == EINTR || errno == EAGAIN) {
        continue;
      }
      return IoStatus::closed;
    }
    take_fds(message, fds);
    if (got == 0) {
      return IoStatus::closed;
    }
    next += got;
    size -= static_cast<std::size_t>(got);
  }
  return IoStatus::ok;
}

IoStatus send_bytes(int socket, const void* data, std::size_t size, std::span<const int> fds,
                    const Deadline& deadline) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const IoStatus waited = wait_for(socket, POLLOUT, deadline);
    if (waited != IoStatus::ok) {
      return waited;
    }
    iovec part = {const_cast<char*>(next), size};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_frame_fds)> control = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
      cmsghdr* const item = CMSG_FIRSTHDR(&message);
      item->cmsg_level = SOL_SOCKET;
      item->cmsg_type = SCM_RIGHTS;
      item->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(item), fds.data(), sizeof(int) * fds.size());
    }
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR || errno == EAGAIN) {
        continue;
      }
      return IoStatus::closed;
    }
    fds = {};
    next += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return IoStatus::ok;
}

}  // namespace

IoStatus send_frame(int socket, FrameType type, std::span<const std::byte> payload,
                    std::span<const int> fds, const Deadline& deadline) {
  FrameHeader header;
  header.type = type;
  header.num_bytes = payload.size();
  if (payload.size() > max_frame_bytes || fds.size() > static_cast<std::size_t>(max_frame_fds)) {
    return IoStatus::malformed;
  }
  const IoStatus status = send_bytes(socket, &header, sizeof(header), fds, deadline);
  return status != IoStatus::ok ? status
                                : send_bytes(socket, payload.data(), payload.size(), {}, deadline);
}

IoStatus receive_frame(int socket, Frame& frame, const Deadline& deadline, std::string& problem) {
  frame.fds.clear();
  FrameHeader header;
  IoStatus status = receive_bytes(socket, &header, sizeof(header), frame.fds, deadline);
  if (status != IoStatus::ok) {
    return status;
  }
  problem = check_header(header);
  frame.version = header.version;
  if (!problem.empty()) {
    const bool is_ours = header.magic == protocol_magic;
    return is_ours && header.version != protocol_version ? IoStatus::other_version
                                                         : IoStatus::malformed;
  }
  frame.type = header.type;
  frame.payload.resize(static_cast<std::size_t>(header.num_bytes));
  return receive_bytes(socket, frame.payload.data(), frame.payload.size(), frame.fds, deadline);
}

}  // namespace tensorsmith
