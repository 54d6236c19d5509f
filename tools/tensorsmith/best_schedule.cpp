#include "best_schedule.hpp"

#include <filesystem>
#include <utility>

#include "tune/replay_steps.hpp"

namespace tensorsmith::cli {

BestSchedule load_schedule(const WorkloadOptions& options, bool allows_plain) {
  if (options.workload.empty()) {
    throw Error("name a workload, e.g. gemm:512x512x512:f32; tensorsmith tune --list shows all");
  }
  Shared<const ComputeDag> dag = parse_dag(options.workload);
  const Target target = parse_target(options.target);
  if (target.kind != TargetKind::cpu && !target.is_simulated) {
    throw Error("target " + options.target +
                " needs a GPU backend, which this build does not have");
  }
  std::optional<ReplayedRecord> best;
  const bool is_plain =
      allows_plain && options.database.empty() && !std::filesystem::exists(journal_path(options));
  if (!is_plain) {
    std::vector<std::string> skipped;
    best = best_replayed(load_journal(options), dag, options.workload, options.target,
                         options.num_threads, skipped);
    if (!best) {
      throw Error("\"" + journal_path(options) + "\" holds no " +
                  (skipped.empty() ? "successful" : "usable") + " trial of " + options.workload +
                  " for target " + options.target + " on " + std::to_string(options.num_threads) +
                  (options.num_threads == 1 ? " thread" : " threads") +
                  (skipped.empty() ? "" : "; " + skipped.front()));
    }
    for (const std::string& sentence : skipped) {
      warn(journal_path(options) + ": " + sentence);
    }
  }
  State state = best ? std::move(best->state) : replay_steps(dag, {});
  std::optional<Record> record;
  if (best) {
    record = std::move(best->record);
  }
  Result<KernelPrograms, LowerError> programs = lower_kernel(state, target);
  if (!programs) {
    throw Error("the schedule cannot be lowered: " + explain(programs.error()));
  }
  return BestSchedule{std::move(dag), target, std::move(record), std::move(state),
                      std::move(programs).value()};
}

}  // namespace tensorsmith::cli
