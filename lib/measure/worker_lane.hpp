// SPDX-License-Identifier: Apache-2.0
// WorkerLane: a thread with a worker of its own, that keeps the worker alive and prepared.
//
// Private to lib/measure. All of run, rank and calibrate execute on the lane's thread (post), which
// also starts the worker and so keeps it from being killed with some shorter-lived thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "measure/shared_memory.hpp"
#include "measure/worker_process.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"

namespace tensorsmith {

/// A task as the workers get it; shared by all lanes.
struct PreparedTask {
  std::uint64_t generation = 0;
  std::vector<std::byte> payload;  ///< of the prepare frame
  SharedMemory data;               ///< input values and references; may be empty
  std::vector<std::string> argument_names;
  std::int64_t num_bytes = 0;  ///< of all arguments
  bool uses_device = false;
};

class WorkerLane {
 public:
  explicit WorkerLane(const WorkerOptions& options);
  ~WorkerLane();
  WorkerLane(const WorkerLane&) = delete;
  WorkerLane& operator=(const WorkerLane&) = delete;

  /// Runs `job` on the lane's thread, after those posted before.
  void post(std::function<void()> job);

  // The following are called on the lane's thread only.

  /// Starts the worker if it is not running and gives it `task` (may be null); ok if it has it.
  MeasureFault ensure(const std::shared_ptr<const PreparedTask>& task);
  /// Measures one candidate, starting the worker again as needed. `batch` names the measure() call:
  /// within one, equal object spans are equal objects. `time_up_ns`: of the monotonic clock, when
  /// it is dropped; 0: never.
  MeasureResult run(const std::shared_ptr<const PreparedTask>& task,
                    const CompiledCandidate& candidate, const MeasureContext& context,
                    double best_ns, std::uint64_t batch, std::int64_t time_up_ns);
  RankingResult rank(const std::shared_ptr<const PreparedTask>& task,
                     std::span<const CompiledCandidate> candidates, const RankingPolicy& policy);
  Result<Calibration, MeasureFault> calibrate();
  /// Forgets that starting failed, so that the next call tries again.
  void allow_start() { start_problem_.clear(); }
  /// What comes next has to be ready by then, of the monotonic clock; 0: it may take its time.
  void has_time_until(std::int64_t time_up_ns) { time_up_ns_ = time_up_ns; }
  /// What the worker had to say when it took the task; empty: nothing.
  const std::string& note() const { return note_; }

 private:
  void loop();
  void note_resident_bytes(std::int64_t resident_bytes);
  void lose_worker();

  WorkerOptions options_;
  WorkerProcess process_;
  std::string start_problem_, note_;
  std::int64_t time_up_ns_ = 0;            // of what is being done; 0: none
  std::uint64_t prepared_generation_ = 0;  // 0: nothing
  std::int64_t first_resident_bytes_ = 0;  // after the first measurement of a task
  std::uint64_t object_batch_ = 0;         // the worker holds this batch's object ...
  std::span<const std::byte> object_;      // ... at this address

  std::mutex mutex_;
  std::condition_variable has_job_;
  std::deque<std::function<void()>> jobs_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace tensorsmith
