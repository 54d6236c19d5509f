#include "best_schedule.hpp"

#include <filesystem>
#include <utility>

#include "tensorsmith/lower/lower.hpp"
#include "tune/replay_steps.hpp"

namespace tensorsmith::cli {

BestSchedule load_schedule(const WorkloadOptions& options, bool allows_plain) {
  if (options.workload.empty()) {
    throw Error("name a workload, e.g. gemm:512x512x512:f32; tensorsmith tune --list shows all");
  }
  Shared<const ComputeDag> dag = parse_dag(options.workload);
  const Target target = parse_target(options.target);
  if (target.kind != TargetKind::cpu) {
    throw Error("target " + options.target +
                " needs a GPU backend, which this build does not have");
  }
  std::optional<Record> record;
  const bool is_plain =
      allows_plain && options.database.empty() && !std::filesystem::exists(journal_path(options));
  if (!is_plain) {
    record = find_best_record(options);
  }
  State state = replay_steps(dag, record ? record->steps : std::vector<Step>{});
  Result<LoopProgram, LowerError> program = lower(state, target);
  if (!program) {
    throw Error("the schedule cannot be lowered: " + explain(program.error()));
  }
  return BestSchedule{std::move(dag), target, std::move(record), std::move(state),
                      std::move(program).value()};
}

}  // namespace tensorsmith::cli
