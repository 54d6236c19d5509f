// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_pool.hpp"

#include <algorithm>

#include "tensorsmith/support/assert.hpp"

namespace tensorsmith {
namespace {

// About 20 microseconds: longer than the gap between two parallel loops of one kernel, shorter than
// what would be felt by others on the machine.
constexpr int spins_before_sleep = 4000;
// Chunks per thread: enough to even out a stolen core, few enough to keep blocks together.
constexpr std::int64_t chunks_per_thread = 4;

thread_local bool is_inside_body = false;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

void run_parallel_for(const KernelRuntime* self, ParallelBody body, void* closure,
                      std::int64_t count) {
  static_cast<ThreadPool*>(self->pool)->parallel_for(body, closure, count);
}

}  // namespace

ThreadPool::ThreadPool(std::int32_t num_threads)
    : runtime_{&run_parallel_for, this, std::max<std::int32_t>(num_threads, 1)} {
  try {
    for (std::int32_t worker = 1; worker < runtime_.num_threads; ++worker) {
      threads_.emplace_back([this, worker] { work(worker); });
    }
  } catch (...) {
    stop();  // the system has no more threads to give
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  is_stopping_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::parallel_for(ParallelBody body, void* closure, std::int64_t count) {
  if (count <= 0) {
    return;
  }
  std::unique_lock<std::mutex> lock(owner_, std::defer_lock);
  if (count == 1 || threads_.empty() || is_inside_body || !lock.try_lock()) {
    body(closure, 0, count, 0);
    return;
  }
  const std::int64_t wanted = runtime_.num_threads * chunks_per_thread;
  const std::int64_t chunk = std::max<std::int64_t>(1, (count + wanted - 1) / wanted);
  const std::int64_t num_chunks = (count + chunk - 1) / chunk;
  const std::uint64_t generation = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;

  ticket_.store((generation << 32) | closed, std::memory_order_seq_cst);
  body_.store(body, std::memory_order_release);
  closure_.store(closure, std::memory_order_release);
  count_.store(count, std::memory_order_release);
  chunk_.store(chunk, std::memory_order_release);
  num_chunks_.store(num_chunks, std::memory_order_release);
  done_chunks_.store(0, std::memory_order_relaxed);
  ticket_.store(generation << 32, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();

  take_chunks(0);
  for (int spins = 0; done_chunks_.load(std::memory_order_acquire) != num_chunks; ++spins) {
    if (spins > spins_before_sleep) {
      std::this_thread::yield();  // the thread that holds the last chunk may need this core
    } else {
      pause();
    }
  }
}

void ThreadPool::take_chunks(std::int32_t worker) {
  for (;;) {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    const ParallelBody body = body_.load(std::memory_order_acquire);
    void* const closure = closure_.load(std::memory_order_acquire);
    const std::int64_t count = count_.load(std::memory_order_acquire);
    const std::int64_t chunk = chunk_.load(std::memory_order_acquire);
    const std::int64_t num_chunks = num_chunks_.load(std::memory_order_acquire);
    const std::int64_t index = static_cast<std::int64_t>(ticket & closed);
    if (index >= num_chunks || index == static_cast<std::int64_t>(closed)) {
      return;
    }
    if (!ticket_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel)) {
      continue;
    }
    const std::int64_t begin = index * chunk;
    is_inside_body = true;
    body(closure, begin, std::min(begin + chunk, count), worker);
    is_inside_body = false;
    done_chunks_.fetch_add(1, std::memory_order_acq_rel);
  }
}

void ThreadPool::work(std::int32_t worker) {
  int seen = 0;
  for (;;) {
    int now = epoch_.load(std::memory_order_acquire);
    for (int spins = 0; now == seen && spins < spins_before_sleep; ++spins) {
      pause();
      now = epoch_.load(std::memory_order_acquire);
    }
    while (now == seen) {
      epoch_.wait(seen, std::memory_order_acquire);
      now = epoch_.load(std::memory_order_acquire);
    }
    seen = now;
    if (is_stopping_.load(std::memory_order_acquire)) {
      return;
    }
    take_chunks(worker);
  }
}

}  // namespace tensorsmith
