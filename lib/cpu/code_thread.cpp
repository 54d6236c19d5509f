// SPDX-License-Identifier: Apache-2.0
#include "code_thread.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include <llvm/Support/ErrorHandling.h>
#include <pthread.h>
#include <unistd.h>

namespace tensorsmith::llvm_codegen {

struct CodeThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;
  std::exception_ptr failure;
  std::string fatal;
  bool has_job = false, is_dead = false, is_stopping = false;

  static void* loop(void* argument);
  static void on_fatal_error(void* unused, const char* reason, bool is_crash);
  static inline thread_local State* of_this_thread = nullptr;
};

namespace {

bool start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes) {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) {
    return false;
  }
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  bool is_started = ::pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                    ::pthread_create(&thread, &attributes, body, argument) == 0;
  if (!is_started) {  // as large as the limits of the process allow
    ::pthread_attr_destroy(&attributes);
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    is_started = ::pthread_create(&thread, &attributes, body, argument) == 0;
  }
  ::pthread_attr_destroy(&attributes);
  return is_started;
}

}  // namespace

void CodeThread::State::on_fatal_error(void*, const char* reason, bool) {
  State* const state = of_this_thread;
  if (state == nullptr) {  // somebody else's use of LLVM: it does what it does without a handler
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  {
    const std::lock_guard lock(state->mutex);
    state->fatal = reason;
    state->is_dead = true;
  }
  state->changed.notify_all();
  for (;;) {
    ::pause();
  }
}

void* CodeThread::State::loop(void* argument) {
  // The thread's own share: a fatal error leaves it to the sleeping thread for ever.
  const std::unique_ptr<std::shared_ptr<State>> share(
      static_cast<std::shared_ptr<State>*>(argument));
  State& state = **share;
  of_this_thread = &state;
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.has_job || state.is_stopping; });
    if (!state.has_job) {
      return nullptr;
    }
    lock.unlock();
    std::exception_ptr failure;
    try {
      state.job();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    state.failure = failure;
    state.job = nullptr;
    state.has_job = false;
    state.changed.notify_all();
  }
}

CodeThread::CodeThread(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {
  static const bool is_installed = [] {
    // Memory that runs out is a fatal error of its own kind.
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(&State::on_fatal_error);
    llvm::remove_bad_alloc_error_handler();
    llvm::install_bad_alloc_error_handler(&State::on_fatal_error);
    return true;
  }();
  (void)is_installed;
}

CodeThread::~CodeThread() {
  if (state_ != nullptr) {
    const std::lock_guard lock(state_->mutex);
    state_->is_stopping = true;
    state_->changed.notify_all();
  }
}

std::string CodeThread::run(std::function<void()> job) {
  if (state_ == nullptr) {
    auto state = std::make_shared<State>();
    auto share = std::make_unique<std::shared_ptr<State>>(state);
    if (!start_thread(&State::loop, share.get(), stack_bytes_)) {
      return "no thread to compile on could be started";
    }
    (void)share.release();
    state_ = std::move(state);
  }
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.failure = nullptr;
  state.job = std::move(job);
  state.has_job = true;
  state.changed.notify_all();
  state.changed.wait(lock, [&] { return !state.has_job || state.is_dead; });
  if (state.is_dead) {
    const std::string reason = "LLVM gave up: " + state.fatal;
    lock.unlock();
    state_ = nullptr;  // the sleeping thread keeps it
    return reason;
  }
  const std::exception_ptr failure = std::exchange(state.failure, nullptr);
  lock.unlock();
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
  return {};
}

}  // namespace tensorsmith::llvm_codegen
