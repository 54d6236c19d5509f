// SPDX-License-Identifier: Apache-2.0
// BuildThread: builds the states of one round on threads of its own while others are measured.
//
// Private to lib/tune. Own design (docs/decisions/0023-nothing-is-waited-for-beyond-the-budget.md).
// Nothing can interrupt a compiler. So a build that takes too long, or is still running when nobody
// wants its result any more, is left behind: its thread goes on by itself, together with its
// builder, and another builder takes the place. Not here: what building is (CandidateBuilder).
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tensorsmith/tune/driver.hpp"
#include "tune/left_behind.hpp"
#include "tune/starved_time.hpp"

namespace tensorsmith {

/// How many built candidates may wait: enough to hide uneven build times, few enough to stay small.
constexpr std::size_t most_waiting = 16;
/// Builds of one run that are left behind and still running: each takes a core from the others.
constexpr std::int64_t most_left_behind = 2;
/// A build that nobody wants any more gets so long to come to its end.
constexpr double grace_seconds = 0.1;

using BuildOutcome = Result<BuiltCandidate, MeasureFault>;

/// The builder of a run. One that makes others of its kind is never used itself: whoever is left
/// behind keeps the one that it builds with.
class BuilderPlace {
 public:
  explicit BuilderPlace(CandidateBuilder& first) : first_(first), current_(first.another()) {}

  /// Null: there is but the first one.
  const Shared<CandidateBuilder>& current() const { return current_; }
  CandidateBuilder& any() const { return current_ != nullptr ? *current_ : first_; }
  void replace() { current_ = first_.another(); }

 private:
  CandidateBuilder& first_;
  Shared<CandidateBuilder> current_;
};

/// Builds the states of one round on as many threads as the builder takes; hands them out in order.
class BuildThread {
 public:
  /// `needs_code`: of the state at a place; those of the others is left empty. Empty: all do.
  BuildThread(BuilderPlace& builder, std::span<const State> states, double limit_seconds,
              const Callback<bool(std::size_t)>& needs_code = {})
      : builder_(builder), limit_seconds_(limit_seconds), round_(std::make_shared<Round>()) {
    round_->states.assign(states.begin(), states.end());
    round_->built.resize(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      round_->needs_code.push_back(!needs_code || needs_code(i));
    }
    const auto wanted = static_cast<std::size_t>(std::max(builder.any().num_threads(), 1));
    round_->most_ahead = std::max(most_waiting, 2 * wanted);
    for (std::size_t t = 0; t < std::min(wanted, states.size()); ++t) {
      if (!start_worker()) {  // as many as the system gives
        break;
      }
    }
  }
  ~BuildThread() {
    {
      std::unique_lock lock(round_->mutex);
      round_->is_stopping = true;
      round_->changed.notify_all();
      if (builder_.current() != nullptr) {
        const auto are_idle = [&] {
          return std::none_of(workers_.begin(), workers_.end(),
                              [](const Worker& worker) { return worker.job->is_running(); });
        };
        round_->changed.wait_for(lock, std::chrono::duration<double>(grace_seconds), are_idle);
        leave_behind_if([](const Job& job) { return job.is_running(); });
      }
    }
    for (Worker& worker : workers_) {
      worker.thread.join();
    }
  }
  BuildThread(const BuildThread&) = delete;
  BuildThread& operator=(const BuildThread&) = delete;

  /// The next built ones: at least one and at most `most`; none at the end of the round, or when
  /// `seconds` passed without any (then `is_late`).
  std::vector<BuildOutcome> take(std::size_t most, double seconds, bool& is_late) {
    Round& round = *round_;
    std::unique_lock lock(round.mutex);
    const auto is_ready = [&] {
      return round.num_taken == round.states.size() || round.built[round.num_taken];
    };
    is_late = !round.changed.wait_for(lock, std::chrono::duration<double>(seconds), is_ready);
    if (is_late) {
      give_up_late_ones(lock);
    }
    std::vector<BuildOutcome> taken;
    while (!is_round_over() && round.built[round.num_taken] && taken.size() < most) {
      taken.push_back(std::move(*round.built[round.num_taken]));
      round.built[round.num_taken].reset();
      ++round.num_taken;
    }
    lock.unlock();
    round.changed.notify_all();
    return taken;
  }
  double build_seconds() {
    const std::lock_guard lock(round_->mutex);
    return round_->build_seconds;
  }
  std::int64_t num_builds() {
    const std::lock_guard lock(round_->mutex);
    return round_->num_builds;
  }

 private:
  /// What one thread is at; guarded by the round's mutex.
  struct Job {
    Shared<CandidateBuilder> own;  ///< null: the run's only one
    CandidateBuilder* builder = nullptr;
    std::size_t place = 0;
    double begin = -1;           ///< -1: it waits
    double starved_before = -1;  ///< see starved_seconds; -1: not looked at yet
    bool is_left_behind = false;

    bool is_running() const { return begin >= 0; }
  };
  /// What outlives its owner if a thread is left behind.
  struct Round {
    std::vector<State> states;
    std::vector<bool> needs_code;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<BuildOutcome>> built;  // by place, until they are taken
    std::size_t next = 0, num_taken = 0, most_ahead = most_waiting;
    bool is_stopping = false;
    double build_seconds = 0;
    std::int64_t num_builds = 0;
  };
  struct Worker {
    std::shared_ptr<Job> job;
    std::thread thread;
  };

  bool is_round_over() const { return round_->num_taken == round_->states.size(); }

  bool start_worker() {
    Worker worker;
    worker.job = std::make_shared<Job>();
    worker.job->own = builder_.current();
    worker.job->builder = &builder_.any();
    try {
      worker.thread = std::thread([round = round_, job = worker.job] { work(*round, *job); });
    } catch (const std::system_error&) {
      if (workers_.empty()) {
        throw;
      }
      return false;
    }
    workers_.push_back(std::move(worker));
    return true;
  }

  /// Threads at such jobs are nobody's from now on; how many.
  template <class IsSuch>
  std::size_t leave_behind_if(const IsSuch& is_such) {
    const auto is_left = [&](Worker& worker) {
      if (!is_such(*worker.job)) {
        return false;
      }
      worker.job->is_left_behind = true;
      ThreadsLeftBehind::instance().add();
      worker.thread.detach();
      return true;
    };
    const std::size_t count = std::erase_if(workers_, is_left);
    if (count > 0) {
      builder_.replace();
    }
    return count;
  }

  /// Builds that take longer than the limit, waiting for a core left out, are failures; other
  /// threads take over.
  void give_up_late_ones(std::unique_lock<std::mutex>& lock) {
    if (builder_.current() == nullptr) {
      return;
    }
    const double now = steady_seconds(), starved = starved_seconds();
    double num_running = 0;
    for (Worker& worker : workers_) {
      num_running += worker.job->is_running() ? 1 : 0;
      if (worker.job->starved_before < 0) {
        worker.job->starved_before = starved;
      }
    }
    // Compilers have threads of their own, so each build takes its share of all that wait.
    const auto own_seconds = [&](const Job& job) {
      return now - job.begin - (starved - job.starved_before) / num_running;
    };
    std::int64_t room = most_left_behind - ThreadsLeftBehind::instance().count();
    const std::size_t count = leave_behind_if([&](const Job& job) {
      if (!job.is_running() || own_seconds(job) <= limit_seconds_ || room <= 0) {
        return false;
      }
      --room;
      round_->built[job.place].emplace(too_long(own_seconds(job)));
      round_->build_seconds += now - job.begin;
      ++round_->num_builds;
      return true;
    });
    lock.unlock();
    for (std::size_t i = 0; i < count; ++i) {
      (void)start_worker();
    }
    lock.lock();
  }

  static BuildOutcome too_long(double seconds) {
    return fail(MeasureFault{MeasureStatus::build_timeout,
                             "building took " + std::to_string(seconds) + " s"});
  }
  /// Whatever goes wrong with one candidate is its failure.
  static BuildOutcome built_or_why_not(CandidateBuilder& builder, const State& state) {
    try {
      return builder.build(state);
    } catch (const std::exception& error) {
      return fail(MeasureFault{MeasureStatus::compile_error, error.what()});
    }
  }
  static void work(Round& round, Job& job) {
    std::unique_lock lock(round.mutex);
    for (;;) {
      round.changed.wait(lock, [&] {
        return round.is_stopping || round.next == round.states.size() ||
               round.next < round.num_taken + round.most_ahead;
      });
      if (round.is_stopping || round.next == round.states.size()) {
        return;
      }
      job.place = round.next++;
      job.begin = steady_seconds();
      job.starved_before = -1;
      const bool needs_code = round.needs_code[job.place];
      lock.unlock();
      BuildOutcome built =
          needs_code ? built_or_why_not(*job.builder, round.states[job.place]) : BuiltCandidate{};
      lock.lock();
      if (job.is_left_behind) {
        lock.unlock();
        ThreadsLeftBehind::instance().remove();
        return;
      }
      const double seconds = steady_seconds() - job.begin;
      job.begin = -1;
      round.built[job.place].emplace(std::move(built));
      round.build_seconds += seconds;
      round.num_builds += needs_code ? 1 : 0;
      round.changed.notify_all();
    }
  }

  BuilderPlace& builder_;
  double limit_seconds_;
  std::shared_ptr<Round> round_;
  std::vector<Worker> workers_;
};

}  // namespace tensorsmith
