// SPDX-License-Identifier: Apache-2.0
// ControlPage: what a worker tells its parent without sending anything: what it does, until when it
// may, and what it died of. One shared page per worker.
//
// Private to lib/measure and lib/worker. The worker runs foreign code in its own
// address space, so the parent treats every value here as a hint and keeps deadlines of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorsmith {

enum class WorkerPhase : std::uint32_t { idle, load, run, check };

/// What lies at a faulting address.
enum class FaultPlace : std::uint32_t {
  elsewhere,
  before_argument,
  after_argument,
  inside_argument,  // a write: inputs are mapped read-only
  before_workspace,
  after_workspace,
};

struct FaultReport {
  std::atomic<std::int32_t> signal;  // 0: none
  std::atomic<std::int32_t> sender;  // the process that sent it; 0: nobody, it was a fault
  std::atomic<FaultPlace> place;
  std::atomic<std::uint32_t> argument;
  std::atomic<std::uint32_t> is_write;
  std::atomic<std::int64_t> offset_bytes;  // from the first byte, or from the end
  std::atomic<std::uint64_t> address;
};

struct ControlPage {
  std::atomic<WorkerPhase> phase;
  std::atomic<std::uint32_t> candidate;   // index in a ranking
  std::atomic<std::int64_t> deadline_ns;  // monotonic clock; 0: none
  /// The same in processor time of the worker, all its threads: a call that had less was not slow,
  /// it was kept from running. 0: the worker waits for something else than a processor.
  std::atomic<std::int64_t> processor_deadline_ns;
  std::atomic<std::int32_t> device_error;  // of a GPU's driver, and it sticks; 0: none
  FaultReport fault;
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(sizeof(ControlPage) <= 4096);

/// Nanoseconds of the monotonic clock, which all processes share.
std::int64_t monotonic_ns();
/// Nanoseconds of processor time that a process has used, this one for 0; -1: not known.
std::int64_t processor_ns(int pid);

}  // namespace tensorsmith
