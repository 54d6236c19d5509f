// SPDX-License-Identifier: Apache-2.0
// ThreadPool: runs the parallel loops of kernels on a fixed number of threads that stay.
//
// Private to lib/ and tools/. Own design: chunks are taken from one counter (a stolen core delays
// one chunk, not the loop), workers spin for some microseconds before they sleep. Kernels do not
// throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "tensorsmith/codegen/kernel_abi.hpp"

namespace tensorsmith {

class ThreadPool {
 public:
  /// `num_threads` >= 1 counts the calling thread: one less is started.
  explicit ThreadPool(std::int32_t num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::int32_t num_threads() const { return runtime_.num_threads; }
  /// What to hand to a kernel. Valid as long as the pool.
  const KernelRuntime& runtime() const { return runtime_; }

  /// Runs body over [0, count) and returns when all of it is done. A call from inside a body, or
  /// while another thread uses the pool, runs on the caller alone as worker 0; so two kernels that
  /// run at once need a workspace each.
  void parallel_for(ParallelBody body, void* closure, std::int64_t count);

 private:
  void stop();
  void work(std::int32_t worker);
  void take_chunks(std::int32_t worker);

  KernelRuntime runtime_;
  std::mutex owner_;

  // The job. `ticket_` is generation << 32 | next chunk; `closed` in the low half means that the
  // fields below are being written. A chunk is taken by a compare-exchange on the whole ticket, so
  // a thread that read the fields of another generation fails to take anything.
  static constexpr std::uint64_t closed = 0xFFFFFFFFU;
  alignas(64) std::atomic<std::uint64_t> ticket_{closed};
  alignas(64) std::atomic<std::int64_t> done_chunks_{0};
  alignas(64) std::atomic<ParallelBody> body_{nullptr};
  std::atomic<void*> closure_{nullptr};
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> chunk_{1};
  std::atomic<std::int64_t> num_chunks_{0};
  alignas(64) std::atomic<int> epoch_{0};
  std::atomic<bool> is_stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tensorsmith
