// SPDX-License-Identifier: Apache-2.0
// WorkerProcess: one tensorsmith-worker, from its start to its death, and what it died of.
//
// Private to lib/measure. A worker dies with the thread that started it (PR_SET_PDEATHSIG), so it
// must be started by a thread that lives as long as it should. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/control_page.hpp"
#include "measure/frame_io.hpp"
#include "measure/shared_memory.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"

namespace tensorsmith {

/// How a request to a worker ended.
struct Answer {
  bool is_ok = false;
  Frame frame;                  ///< if ok
  MeasureFault fault;           ///< if not: the status and the sentence to record
  std::uint32_t candidate = 0;  ///< if not: which one of a ranking ran, as the worker claims
};

/// Until when a request is waited for, in nanoseconds of the monotonic clock; 0: no such moment.
struct Patience {
  std::int64_t until_ns = 0;    ///< the request takes too long, which is the worker's fault
  std::int64_t time_up_ns = 0;  ///< there is no more time for it, which is nobody's fault
  /// A worker that waits for a device may sleep; one that computes and gets no further is stuck.
  bool may_sleep = false;
};

class WorkerProcess {
 public:
  WorkerProcess() = default;
  ~WorkerProcess() { stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Empty if the worker runs and has said hello, else why not.
  std::string start(const WorkerOptions& options, const std::string& program);
  bool is_running() const { return pid_ > 0; }
  int pid() const { return pid_; }

  /// Sends a request and waits for a frame of type `expected`. Not ok means that the worker is
  /// dead: it died, was killed at a deadline (the worker's own, or that of `patience`), because it
  /// was stopped or got no further, because `is_stopped` said so, or because it did not follow the
  /// protocol. The worker's own deadline is one in processor time: a busy machine moves it.
  Answer call(FrameType request, std::span<const std::byte> payload, std::span<const int> fds,
              FrameType expected, const Patience& patience, const Callback<bool()>& is_stopped);

  /// For messages about faults next to an argument.
  void name_arguments(std::vector<std::string> names) { argument_names_ = std::move(names); }

  /// Ends the worker, politely if it is idle. No zombie remains.
  void stop();

 private:
  class Watch;
  MeasureFault explain_timeout(const Watch& watch) const;
  MeasureFault explain_death(int wait_status) const;
  /// Waits up to `patience_ns` for the end, then kills. Returns waitpid's status, -1 if we killed.
  /// What does not die of that either (its control group is frozen) is left behind.
  int reap(std::int64_t patience_ns);

  int pid_ = -1;
  FileDescriptor socket_;
  SharedMemory control_;
  const ControlPage* page_ = nullptr;
  std::vector<std::string> argument_names_;
};

/// "SIGSEGV" and so on; "signal 42" for the unusual.
std::string signal_name(int signal);

}  // namespace tensorsmith
