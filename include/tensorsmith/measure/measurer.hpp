// SPDX-License-Identifier: Apache-2.0
// Measurer: runs compiled candidates somewhere and says how long they take. Erased interface.
//
// Floor 6. Own design. Implementations: worker processes (worker_measurer.hpp), a simulated device
// (simulated.hpp). The calling process never runs a candidate. Not here: choosing candidates,
// compiling them, storing results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/measure/measure_result.hpp"
#include "tensorsmith/measure/policy.hpp"
#include "tensorsmith/measure/task.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// A buffer that one function of a kernel fills and the other reads.
struct PackedArgument {
  std::string name;
  DType dtype = DType::f32;
  std::int64_t num_elements = 0;  ///< including padding

  std::int64_t num_bytes() const { return num_elements * bytes_of(dtype); }
};

/// The function of a kernel that is called once, before all others, with the constant inputs. Lists
/// of arguments: i < n means argument i of the task's n, n + i means packed[i].
struct PrepackCode {
  std::string entry;  ///< symbol in the same object, a KernelEntry; empty: there is none
  std::vector<PackedArgument> packed;
  std::vector<std::int32_t> arguments;         ///< of this function
  std::vector<std::int32_t> kernel_arguments;  ///< of the kernel itself
};

/// One kernel ready to run. Candidates of one batch may share `object` (same data and size): it is
/// then loaded once.
struct CompiledCandidate {
  std::uint64_t id = 0;               ///< stable name of the candidate, e.g. the state's hash
  std::span<const std::byte> object;  ///< relocatable object code; must outlive the call
  std::string entry;                  ///< its symbol, a KernelEntry
  std::int64_t shared_bytes = 0;      ///< workspace: once ...
  std::int64_t per_thread_bytes = 0;  ///< ... and per thread
  PrepackCode prepack;                ///< not timed
  std::int64_t complexity = 0;        ///< of equally fast ones the smaller number wins a ranking
  bool is_hard_verified = false;  ///< known from its measurement: a ranking need not do it again
};

struct MeasureContext {
  double best_ns = 0;            ///< to race against; 0: none yet. Better results replace it.
  std::int64_t max_wall_ns = 0;  ///< start no further candidate after this long; 0: no limit
  /// With a limit: what is being measured so long after it is dropped (`cancelled`); 0: never.
  std::int64_t max_overrun_ns = 0;
  /// When it says true: drop what runs, return at once. Called often, from any thread.
  Callback<bool()> is_stopped;
  /// Called on the calling thread as each result arrives (index into the batch).
  Callback<void(std::size_t, const MeasureResult&)> on_result;
  RacingPolicy racing;
};

/// For choose_winner.
inline std::vector<std::int64_t> complexities(std::span<const CompiledCandidate> candidates) {
  std::vector<std::int64_t> list;
  for (const CompiledCandidate& candidate : candidates) {
    list.push_back(candidate.complexity);
  }
  return list;
}

class Measurer {
 public:
  Measurer() = default;
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;
  virtual ~Measurer() = default;

  /// Once per task, before its candidates; or once more, when it has its references.
  virtual Result<Done, MeasureFault> prepare(const MeasureTask& task) = 0;

  /// One result per candidate, in their order; those not reached are `cancelled`.
  virtual std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                             const MeasureContext& context) = 0;

  /// Times all candidates in turn (A B C ... A B C ...), so that drift of the clock hits all alike;
  /// the winner is that of choose_winner.
  virtual RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                                      const RankingPolicy& policy) = 0;

  virtual Result<Calibration, MeasureFault> calibrate() = 0;

  /// What about the way it measures may surprise, in one sentence; empty: nothing.
  virtual std::string note() const { return {}; }
};

}  // namespace tensorsmith
