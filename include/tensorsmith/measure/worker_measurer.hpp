// SPDX-License-Identifier: Apache-2.0
// WorkerMeasurer: measures in separate worker processes on this machine.
//
// Floor 6; defined in lib/measure. Own design. A candidate that hangs, crashes or corrupts memory
// takes a worker with it, never the caller; no worker outlives the process (or the measurer) it
// belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/measure/measurer.hpp"

namespace tensorsmith {

struct WorkerOptions {
  /// Program to start; empty: what the environment variable TENSORSMITH_WORKER names, else
  /// `tensorsmith-worker` next to this executable, where the library was installed, or on PATH.
  std::string worker_path;
  /// Workers that measure side by side. More than one disturb each other's times.
  std::int32_t num_workers = 1;
  /// One-threaded tasks: keep the worker on one core that no other worker of this user holds.
  bool is_pinned = true;
  /// Replace a worker whose resident memory grew by more than this since its first measurement.
  std::int64_t recycle_growth_bytes = 48ll << 20;
  std::int64_t start_timeout_ns = 10'000'000'000;
  std::int64_t load_timeout_ns = 10'000'000'000;
  /// Let the worker's standard error through, for debugging; it is dropped otherwise.
  bool keeps_stderr = false;
};

class WorkerMeasurer final : public Measurer {
 public:
  /// Starts nothing yet: workers start on the first prepare, measure or calibrate.
  explicit WorkerMeasurer(const WorkerOptions& options = {});
  ~WorkerMeasurer() override;

  Result<Done, MeasureFault> prepare(const MeasureTask& task) override;
  std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                     const MeasureContext& context) override;
  RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                              const RankingPolicy& policy) override;
  Result<Calibration, MeasureFault> calibrate() override;
  std::string note() const override;

 private:
  class Pool;
  Pool* pool_;
};

/// Where the worker program would be found with these options; empty if nowhere.
std::string find_worker_program(const WorkerOptions& options = {});
/// One sentence that says where was looked; empty if it is found.
std::string worker_program_problem(const WorkerOptions& options = {});

/// Tells the library where its worker was installed. The CMake package does so for all who include
/// this (TENSORSMITH_WORKER_PATH), because an installed tree may have been moved.
bool set_installed_worker(const char* path);
#ifdef TENSORSMITH_WORKER_PATH
namespace detail {
inline const bool knows_worker = set_installed_worker(TENSORSMITH_WORKER_PATH);
}  // namespace detail
#endif

}  // namespace tensorsmith
