// BuildThread: builds the states of one round on a thread of its own while others are measured.
//
// Private to lib/tune. Own design. Not here: what building is (CandidateBuilder).
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tune/driver.hpp"

namespace tensorsmith {

/// How many built candidates may wait: enough to hide uneven build times, few enough to stay small.
constexpr std::size_t most_waiting = 16;

using Built = Result<BuiltCandidate, MeasureFault>;

/// Builds the states of one round on its own thread, in order.
class BuildThread {
 public:
  BuildThread(CandidateBuilder& builder, std::span<const State> states, double limit_seconds)
      : builder_(builder), states_(states), limit_seconds_(limit_seconds),
        thread_([this] { work(); }) {}
  ~BuildThread() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  BuildThread(const BuildThread&) = delete;
  BuildThread& operator=(const BuildThread&) = delete;

  /// The next built ones: at least one and at most `most`; none at the end of the round, or when
  /// `seconds` passed without any (then `is_late`).
  std::vector<Built> take(std::size_t most, double seconds, bool& is_late) {
    std::unique_lock lock(mutex_);
    const auto is_ready = [&] { return !waiting_.empty() || num_taken_ == states_.size(); };
    is_late = !changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_ready);
    std::vector<Built> taken;
    while (!waiting_.empty() && taken.size() < most) {
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
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

 private:
  void work() {
    for (const State& state : states_) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_stopping_ || waiting_.size() < most_waiting; });
        if (is_stopping_) {
          return;
        }
      }
      const double begin = steady_seconds();
      Built built = builder_.build(state);
      const double seconds = steady_seconds() - begin;
      if (built && seconds > limit_seconds_) {
        built = fail(MeasureFault{MeasureStatus::build_timeout,
                                  "building took " + std::to_string(seconds) + " s"});
      }
      {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(built));
        build_seconds_ += seconds;
      }
      changed_.notify_all();
    }
  }

  CandidateBuilder& builder_;
  std::span<const State> states_;
  double limit_seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Built> waiting_;
  std::size_t num_taken_ = 0;
  bool is_stopping_ = false;
  double build_seconds_ = 0;
  std::thread thread_;
};

}  // namespace tensorsmith
