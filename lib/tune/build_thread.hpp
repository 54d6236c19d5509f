// BuildThread: builds the states of one round on threads of its own while others are measured.
//
// Private to lib/tune. Own design. Not here: what building is (CandidateBuilder).
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tensorsmith/tune/driver.hpp"

namespace tensorsmith {

/// How many built candidates may wait: enough to hide uneven build times, few enough to stay small.
constexpr std::size_t most_waiting = 16;

using BuildOutcome = Result<BuiltCandidate, MeasureFault>;

/// Builds the states of one round on as many threads as the builder takes; hands them out in order.
class BuildThread {
 public:
  /// `needs_code`: of the state at a place; those of the others is left empty. Empty: all do.
  BuildThread(CandidateBuilder& builder, std::span<const State> states, double limit_seconds,
              Callback<bool(std::size_t)> needs_code = {})
      : builder_(builder), states_(states), limit_seconds_(limit_seconds),
        needs_code_(std::move(needs_code)), built_(states.size()) {
    const auto wanted = static_cast<std::size_t>(std::max(builder.num_threads(), 1));
    most_ahead_ = std::max(most_waiting, 2 * wanted);
    for (std::size_t t = 0; t < std::min(wanted, states.size()); ++t) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {  // as many as the system gives
        if (threads_.empty()) {
          throw;
        }
        break;
      }
    }
  }
  ~BuildThread() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  BuildThread(const BuildThread&) = delete;
  BuildThread& operator=(const BuildThread&) = delete;

  /// The next built ones: at least one and at most `most`; none at the end of the round, or when
  /// `seconds` passed without any (then `is_late`).
  std::vector<BuildOutcome> take(std::size_t most, double seconds, bool& is_late) {
    std::unique_lock lock(mutex_);
    const auto is_ready = [&] { return num_taken_ == states_.size() || built_[num_taken_]; };
    is_late = !changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_ready);
    std::vector<BuildOutcome> taken;
    while (num_taken_ < states_.size() && built_[num_taken_] && taken.size() < most) {
      taken.push_back(std::move(*built_[num_taken_]));
      built_[num_taken_].reset();
      ++num_taken_;
    }
    lock.unlock();
    changed_.notify_all();
    return taken;
  }
  double build_seconds() {
    const std::lock_guard lock(mutex_);
    return build_seconds_;
  }
  std::int64_t num_builds() {
    const std::lock_guard lock(mutex_);
    return num_builds_;
  }

 private:
  /// Whatever goes wrong with one candidate is its failure.
  BuildOutcome built_or_why_not(const State& state) {
    try {
      return builder_.build(state);
    } catch (const std::exception& error) {
      return fail(MeasureFault{MeasureStatus::compile_error, error.what()});
    }
  }
  void work() {
    for (;;) {
      std::size_t place = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] {
          return is_stopping_ || next_ == states_.size() || next_ < num_taken_ + most_ahead_;
        });
        if (is_stopping_ || next_ == states_.size()) {
          return;
        }
        place = next_++;
      }
      const double begin = steady_seconds();
      const bool needs_code = !needs_code_ || needs_code_(place);
      BuildOutcome built = needs_code ? built_or_why_not(states_[place]) : BuiltCandidate{};
      const double seconds = steady_seconds() - begin;
      if (built && seconds > limit_seconds_) {
        built = fail(MeasureFault{MeasureStatus::build_timeout,
                                  "building took " + std::to_string(seconds) + " s"});
      }
      {
        const std::lock_guard lock(mutex_);
        built_[place].emplace(std::move(built));
        build_seconds_ += seconds;
        num_builds_ += needs_code ? 1 : 0;
      }
      changed_.notify_all();
    }
  }

  CandidateBuilder& builder_;
  std::span<const State> states_;
  double limit_seconds_;
  Callback<bool(std::size_t)> needs_code_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<BuildOutcome>> built_;  // by place in the round, until they are taken
  std::size_t next_ = 0, num_taken_ = 0, most_ahead_ = most_waiting;
  bool is_stopping_ = false;
  double build_seconds_ = 0;
  std::int64_t num_builds_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace tensorsmith
