// SPDX-License-Identifier: Apache-2.0
// Sends and receives frames over a socket pair, with deadlines.
//
// Private to lib/measure and lib/worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "measure/protocol.hpp"
#include "measure/shared_memory.hpp"

namespace tensorsmith {

struct Frame {
  FrameType type = FrameType::hello;
  std::uint16_t version = protocol_version;
  std::vector<std::byte> payload;
  std::vector<FileDescriptor> fds;
};

enum class IoStatus : std::uint8_t { ok, closed, timeout, stopped, malformed, other_version };

/// Says when to give up: a moment of the monotonic clock, 0 for never; asked again whenever the
/// moment that it named has come, so it may move. is_stopped ends a wait early.
struct Deadline {
  std::function<std::int64_t()> moment_ns;
  std::function<bool()> is_stopped;
};
Deadline deadline_at(std::int64_t moment_ns);

IoStatus send_frame(int socket, FrameType type, std::span<const std::byte> payload,
                    std::span<const int> fds, const Deadline& deadline);

/// On `malformed` and `other_version` (frame.version says which), `problem` says what was wrong;
/// the stream is unusable from then on.
IoStatus receive_frame(int socket, Frame& frame, const Deadline& deadline, std::string& problem);

}  // namespace tensorsmith
