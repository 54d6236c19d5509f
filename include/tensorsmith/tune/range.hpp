// SPDX-License-Identifier: Apache-2.0
// tune_range: one computation for every number of rows in a range, as a family of tuned kernels.
//
// Floor 10; compiled in lib/tune. Own design. The rows of a product, of normalisations, of a batch
// do not depend on each other, so a call may compute them in parts. The family has kernels for some
// numbers of rows; for every other one a plan says which of them are called one after the other on
// the rows that follow, by their measured times the fastest way. Numbers for which the plan is
// worst, next to what their neighbours let expect, get a kernel of their own, until the plan is
// good everywhere. Not here: what rows are (te/row_arguments.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/codegen/kernel_source.hpp"
#include "tensorsmith/kernel.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {

/// The computation with that many rows. Constants that kernels would pack
/// (layout_free_placeholders) are refused: each kernel would want them in an order of its own.
using TaskOfRows = Callback<TuneTask(std::int64_t rows)>;

constexpr std::int64_t most_range_rows = 1 << 20;

struct RangeProgress {
  std::int64_t rows = 0;  ///< of the kernel that was tuned last
  double best_ns = 0;
  std::size_t num_members = 0;
  double seconds = 0;
  /// Of the numbers of rows in the range: what the plan takes over what is expected of a kernel of
  /// its own, the largest.
  double worst_ratio = 0;
};

struct RangeOptions {
  /// As for one task. The budget is that of all kernels together, seconds.
  TuneOptions tune;
  std::size_t most_members = 64;
  /// No further kernel is tuned where the plan is expected to lose less than that.
  double good_ratio = 1.03;
  Callback<void(const RangeProgress&)> on_member;
};

/// How many rows are computed by which kernels.
struct RangePlan {
  std::int64_t first = 1, last = 1;
  std::vector<std::int64_t> sizes;  ///< rows of each kernel, ascending
  /// By rows, 0 to last: the kernel that is called first, as an index into `sizes`; the rest of the
  /// rows is a plan of its own. -1: no way, or no rows.
  std::vector<std::int32_t> next;
  std::vector<double> ns;  ///< by rows: the sum of the parts' times; infinite: no way

  bool has_all() const;  ///< every number of the range can be made up
  /// The kernels of a call, in order, as indices into `sizes`, of a number that can be made up.
  std::vector<std::size_t> parts(std::int64_t rows) const;
  /// Those that some number of the range calls.
  std::vector<bool> used() const;
  /// The number of rows of the range with the most parts, the first of them; of a plan with all.
  std::int64_t rows_with_most_parts() const;
};

/// The plan that takes the least time. `times`: of each size as a part of a larger call, ns.
RangePlan plan_range(std::int64_t first, std::int64_t last, std::vector<std::int64_t> sizes,
                     std::span<const double> times);

/// Where a plan is worst: the rows without a kernel of their own that take most, next to a time
/// between those of the next smaller and the next larger kernel. Infinite: rows that nothing makes
/// up, or that are more than any kernel has.
struct WorstRows {
  std::int64_t rows = 0;  ///< 0: all have a kernel of their own
  double ratio = 1;
};
WorstRows worst_rows(const RangePlan& plan);

/// A handle; copies share the kernels. Calls must not overlap in time.
class RangeKernel {
 public:
  struct Impl;
  explicit RangeKernel(Shared<Impl> impl) : impl_(std::move(impl)) {}

  /// Arguments in the dag's order, each with as many elements as that number of rows has. Throws
  /// Error that names the first wrong argument, or the range.
  template <class... Arguments>
  void operator()(std::int64_t rows, Arguments&&... arguments) const {
    const KernelOperand operands[] = {describe_operand(arguments.size(), arguments.data())...};
    call(rows, operands);
  }
  void call(std::int64_t rows, std::span<const KernelOperand> operands) const;

 private:
  Shared<Impl> impl_;
};

struct RangeResult {
  RangePlan plan;
  std::vector<TuneResult> members;         ///< by plan.sizes
  std::vector<std::int64_t> row_elements;  ///< by argument; 0: it has no rows
  std::int64_t trials = 0;
  std::size_t num_tuned = 0;  ///< kernels, those that no plan uses included
  double seconds = 0;
  double worst_ratio = 0;  ///< see RangeProgress
  bool is_cancelled = false;

  bool has_all() const { return !members.empty(); }
  /// Throws Error if there is none, or only on a simulated device.
  RangeKernel kernel() const;
  /// C++ of int NAME(int64_t rows, arguments...), which returns 0, or 1 for rows out of the range.
  /// Throws Error. For CPUs.
  KernelSource source(const std::string& name = "kernel", bool is_portable = false) const;
};

/// Rows `first` to `last`, 1 <= first <= last <= most_range_rows. Throws Error on wrong arguments,
/// on a computation whose rows depend on each other, and on what tune() throws on. A result without
/// members: the budget did not last for a kernel.
RangeResult tune_range(const TaskOfRows& task, std::int64_t first, std::int64_t last,
                       const RangeOptions& options = {});

/// The same family without a trial: of the best records that there are for numbers of rows in the
/// range and of their parts. A result without members: there are none that make up every number.
RangeResult recorded_range(const TaskOfRows& task, std::int64_t first, std::int64_t last,
                           const JournalContents& records, std::int32_t num_threads = 1);

}  // namespace tensorsmith
