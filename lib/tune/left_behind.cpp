// SPDX-License-Identifier: Apache-2.0
#include "tune/left_behind.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <unistd.h>

#include "tensorsmith/tune/driver.hpp"

namespace tensorsmith {
namespace {

std::atomic<std::int64_t> num_left_behind{0};

/// Runs before the destructors of what was there when it was registered, LLVM's among them.
void end_process(int status, void*) {
  constexpr int most_moments = 100;
  for (int moment = 0; moment < most_moments && num_left_behind > 0; ++moment) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (num_left_behind > 0) {
    (void)std::fflush(nullptr);
    ::_exit(status);
  }
}

}  // namespace

ThreadsLeftBehind& ThreadsLeftBehind::instance() {
  static ThreadsLeftBehind all;
  return all;
}
void ThreadsLeftBehind::add() {
  ++num_left_behind;
  (void)::on_exit(&end_process, nullptr);
}
void ThreadsLeftBehind::remove() { --num_left_behind; }
std::int64_t ThreadsLeftBehind::count() const { return num_left_behind; }

bool run_unless(std::function<void()> work, const std::function<bool()>& should_stop) {
  struct Run {
    std::function<void()> work;
    std::mutex mutex;
    std::condition_variable changed;
    std::exception_ptr failure;
    bool is_done = false, is_left_behind = false;
  };
  const auto run = std::make_shared<Run>();
  run->work = std::move(work);
  std::thread thread([run] {
    std::exception_ptr failure;
    try {
      run->work();
    } catch (...) {
      failure = std::current_exception();
    }
    run->work = nullptr;
    const std::lock_guard lock(run->mutex);
    run->failure = failure;
    run->is_done = true;
    if (run->is_left_behind) {
      ThreadsLeftBehind::instance().remove();
    }
    run->changed.notify_all();
  });
  std::unique_lock lock(run->mutex);
  const auto is_done = [&] { return run->is_done; };
  while (!run->changed.wait_for(lock, std::chrono::milliseconds(10), is_done)) {
    if (should_stop()) {
      run->is_left_behind = true;
      ThreadsLeftBehind::instance().add();
      thread.detach();
      return false;
    }
  }
  lock.unlock();
  thread.join();
  if (run->failure != nullptr) {
    std::rethrow_exception(run->failure);
  }
  return true;
}

ExitGuard::~ExitGuard() {
  if (num_left_behind > 0) {
    (void)::on_exit(&end_process, nullptr);
  }
}

void end_if_work_is_left(int exit_code) {
  if (num_left_behind > 0) {
    end_process(exit_code, nullptr);
  }
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tensorsmith
