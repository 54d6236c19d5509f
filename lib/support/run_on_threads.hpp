// SPDX-License-Identifier: Apache-2.0
// run_on_threads: independent work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tensorsmith/support/callback.hpp"

namespace tensorsmith {

/// body(0) to body(count - 1), on this thread and others, or on this one alone where it is one of
/// those; whatever they do must not depend on their order. The first exception is thrown when all
/// have ended; what has not begun then never does.
inline void run_on_threads(std::size_t count, const Callback<void(std::size_t)>& body) {
  const std::size_t num_threads =
      std::min(count, std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8));
  static thread_local bool is_inside = false;
  if (num_threads <= 1 || is_inside) {
    for (std::size_t i = 0; i < count; ++i) {
      body(i);
    }
    return;
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    is_inside = true;
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        body(i);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = failure ? failure : std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < num_threads; ++t) {
    threads.emplace_back(work);
  }
  work();
  is_inside = false;
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace tensorsmith
