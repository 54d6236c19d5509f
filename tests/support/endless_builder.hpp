// SPDX-License-Identifier: Apache-2.0
// A builder whose builds do not come to an end before the test says so.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "tensorsmith/tune/driver.hpp"

namespace tensorsmith::test {

/// Where endless builds wait. Opened at the latest when the test is over.
class Gate {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
    int num_waiting = 0;

    void wait() {
      std::unique_lock lock(mutex);
      ++num_waiting;
      changed.notify_all();
      changed.wait(lock, [&] { return is_open; });
    }
  };

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { open(); }

  const std::shared_ptr<State>& share() const { return state_; }
  void open() {
    const std::lock_guard lock(state_->mutex);
    state_->is_open = true;
    state_->changed.notify_all();
  }
  /// Until so many builds have come to the gate.
  void await(int count) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->num_waiting >= count; });
  }

 private:
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class EndlessBuilder final : public CandidateBuilder {
 public:
  using IsEndless = std::function<bool(const tensorsmith::State&)>;
  EndlessBuilder(std::shared_ptr<Gate::State> gate, std::int32_t threads, IsEndless is_endless)
      : gate_(std::move(gate)), threads_(threads), is_endless_(std::move(is_endless)) {}

  std::int32_t num_threads() const override { return threads_; }
  Shared<CandidateBuilder> another() const override {
    return make_shared_of<EndlessBuilder>(gate_, threads_, is_endless_);
  }
  /// `shared_bytes`: the number of steps.
  Result<BuiltCandidate, MeasureFault> build(const tensorsmith::State& state) override {
    if (is_endless_(state)) {
      gate_->wait();
    }
    BuiltCandidate built;
    built.shared_bytes = static_cast<std::int64_t>(state.steps().size());
    built.object.resize(8);
    built.entry = "kernel";
    return built;
  }

 private:
  std::shared_ptr<Gate::State> gate_;
  std::int32_t threads_;
  IsEndless is_endless_;
};

}  // namespace tensorsmith::test
