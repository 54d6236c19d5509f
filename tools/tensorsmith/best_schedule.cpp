// SPDX-License-Identifier: Apache-2.0
#include "best_schedule.hpp"

#include <filesystem>
#include <utility>

#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/replay.hpp"

namespace tensorsmith::cli {

std::string recorded_text(const Record& record) {
  const bool has_median = record.median_ns > 0;
  return duration_text(has_median ? record.median_ns : record.min_ns) + " (" +
         (has_median ? "median; " : "") + "least " + duration_text(record.min_ns) + ")";
}

namespace {

/// Of a device that was simulated; empty if the journal has nothing for that either.
std::string hint_at_simulated(const JournalContents& journal, const TuneTask& task,
                              const WorkloadOptions& options) {
  std::vector<std::string> skipped;
  const std::string simulated = "sim:" + task.target.name;
  return best_replayed(journal, task.dag, options.workload, simulated, options.num_threads, skipped)
             ? "; --target " + simulated + " has some"
             : "";
}

}  // namespace

BestSchedule load_schedule(const WorkloadOptions& options, const ScheduleUse& use) {
  if (options.workload.empty()) {
    throw Error("name a workload, e.g. gemm:512x512x512:f32; tensorsmith tune --list shows all");
  }
  TuneTask task = named_task(options.workload, Target());
  task.target = use.is_run ? parse_runnable_target(options.target) : parse_target(options.target);
  // "cuda" is another device on another machine: records have its name.
  const std::string& target_name = task.target.name;
  std::optional<ReplayedRecord> best;
  const bool is_plain = use.allows_plain && options.database.empty() &&
                        !std::filesystem::exists(journal_path(options));
  if (!is_plain) {
    std::vector<std::string> skipped;
    const JournalContents journal = load_journal(options, use.without_journal);
    best = best_replayed(journal, task.dag, options.workload, target_name, options.num_threads,
                         skipped);
    if (!best) {
      throw Error(
          "\"" + journal_path(options) + "\" holds no " +
          (skipped.empty() ? "successful" : "usable") + " trial of " + options.workload +
          " for target " + target_name + " on " + std::to_string(options.num_threads) +
          (options.num_threads == 1 ? " thread" : " threads") +
          (skipped.empty() ? hint_at_simulated(journal, task, options) : "; " + skipped.front()));
    }
    for (const std::string& sentence : skipped) {
      warn(journal_path(options) + ": " + sentence);
    }
  }
  State state = best ? std::move(best->state) : make_backend(task.target)->untuned(task.dag);
  std::optional<Record> record;
  if (best) {
    record = std::move(best->record);
  }
  Result<KernelPrograms, LowerError> programs = lower_kernel(state, task.target);
  if (!programs) {
    throw Error("the schedule cannot be lowered: " + explain(programs.error()));
  }
  return BestSchedule{std::move(task), std::move(record), std::move(state),
                      std::move(programs).value()};
}

}  // namespace tensorsmith::cli
