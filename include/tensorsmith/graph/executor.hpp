// SPDX-License-Identifier: Apache-2.0
// Executor: a network that can be called. And where its kernels come from.
//
// Floor 10; compiled in lib/graph. Own design. Kernels share one pool of threads and one workspace;
// values between them lie in one arena, weights are packed once. Not here: which kernels there are
// (graph/partition.hpp), where values lie (graph/memory_plan.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/graph/layouts.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/kernel.hpp"
#include "tensorsmith/kernel_artifact.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/tune_tasks.hpp"

namespace tensorsmith::graph {

/// One kernel per task: the program as it is written, without any schedule. Slow to run, made at
/// once.
std::vector<KernelArtifact> plain_kernels(const Partition& partition, std::int32_t num_threads = 1);

struct InstantProgress {
  std::size_t done = 0, count = 0;
};
/// One kernel per task without a search: the program that the analytic model puts first, verified.
/// A task for which there is none gets its plain one. `tune`: its budget is not used.
std::vector<KernelArtifact> instant_kernels(const Partition& partition, TuneOptions tune = {},
                                            const Callback<void(InstantProgress)>& progress = {});

/// The best schedules of earlier runs, compiled; what is in none of the records gets an instant
/// one, or with `is_plain` none at all. `num_found`: how many tasks had one.
std::vector<TuneResult> recorded_schedules(const Partition& partition,
                                           const JournalContents& records, const TuneOptions& tune,
                                           bool is_plain, std::size_t& num_found);
/// Their kernels.
std::vector<KernelArtifact> recorded_kernels(const Partition& partition,
                                             const JournalContents& records,
                                             const TuneOptions& tune, bool is_plain,
                                             std::size_t& num_found);

/// What agree_layouts() asks for: the estimates of the programs that the analytic model puts first,
/// by the clock of this machine. `tune`: threads and seed. Rough ones try a quarter of the
/// programs.
TaskCosts estimated_costs(TuneOptions tune = {}, bool is_rough = false);

struct TunedKernels {
  std::vector<KernelArtifact> kernels;  ///< by task
  TasksResult result;
};
/// All tasks under one budget, by the task scheduler; what gets no time gets the journal's kernel,
/// or an instant one.
TunedKernels tuned_kernels(const Partition& partition, const TasksOptions& options);

/// Of times, or ratios of them, of repeated calls: the least, percentiles.
struct Spread {
  double best = 0, p10 = 0, median = 0, p90 = 0;
};
/// `samples` is not empty.
Spread spread_of(std::vector<double> samples);

/// What one kernel call took.
struct GroupProfile {
  std::size_t group = 0;
  double best_ns = 0;  ///< the least of the calls
  double median_ns = 0;
  double p10_ns = 0, p90_ns = 0;  ///< percentiles of the calls
};

/// A kernel that has just been called, and where what it read and wrote lies.
struct GroupCall {
  std::size_t group = 0;
  /// In the order of the arguments of the group's program: inputs, then outputs.
  std::vector<const void*> arguments;
};

class Executor {
 public:
  /// The graph's constants must outlive it where it does not own them. Throws Error for kernels
  /// that do not fit the tasks.
  Executor(const Graph& graph, const Partition& partition,
           const std::vector<KernelArtifact>& kernels, Runtime runtime);
  Executor(const Graph& graph, const Partition& partition,
           const std::vector<KernelArtifact>& kernels, std::int32_t num_threads = 1)
      : Executor(graph, partition, kernels, Runtime(num_threads)) {}
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();

  /// Inputs, then outputs, in the graph's order: anything with data() and size(). Throws Error that
  /// names the first wrong argument. Calls must not overlap in time.
  template <class... Arguments>
  void operator()(Arguments&&... arguments) {
    const KernelOperand operands[] = {describe_operand(arguments.size(), arguments.data())...};
    call(operands);
  }
  void call(std::span<const KernelOperand> operands);
  /// As call(), and looks at every kernel once it is done.
  void trace(std::span<const KernelOperand> operands,
             const Callback<void(const GroupCall&)>& after);
  /// Calls it `repeats` times and takes the time of every kernel.
  std::vector<GroupProfile> profile(std::span<const KernelOperand> operands,
                                    std::int32_t repeats = 10);

  /// Inputs, then outputs.
  const std::vector<KernelParameter>& parameters() const;
  std::int64_t arena_bytes() const;
  std::int64_t packed_bytes() const;  ///< of weights that were laid out for their kernels

 private:
  struct Impl;
  Owned<Impl> impl_;
};

/// Arrays for a call: inputs with floats from -1 to 1 and zeros of other types, then outputs.
std::vector<HostArray> random_arguments(const Graph& graph, std::uint64_t seed);
/// They as operands, inputs first. The arrays must outlive them.
std::vector<KernelOperand> operands_of(const Graph& graph, std::vector<HostArray>& arrays);

}  // namespace tensorsmith::graph
