#include "best_schedule.hpp"

#include <filesystem>
#include <utility>

#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tune/replay_steps.hpp"

namespace tensorsmith::cli {
namespace {

/// As written a program has no threads; the first legal one of the GPU space has.
State drawn_gpu_state(const Shared<const ComputeDag>& dag, const Target& target) {
  const HardwareParams hardware = hardware_params(target);
  const SearchSpace space(generate_sketches(dag, ansor_gpu_rules(), gpu_sketch_options(hardware)),
                          gpu_space_options(hardware));
  for (std::uint32_t i = 0; i < 1000; ++i) {
    CounterRng rng(1, 0, 0, i);
    if (std::optional<Candidate> candidate = draw_candidate(space, AnsorGpuPopulation{}, rng)) {
      return std::move(candidate->state);
    }
  }
  throw Error("the GPU space has no legal program of this workload among the first 1000");
}

}  // namespace

BestSchedule load_schedule(const WorkloadOptions& options, const ScheduleUse& use) {
  if (options.workload.empty()) {
    throw Error("name a workload, e.g. gemm:512x512x512:f32; tensorsmith tune --list shows all");
  }
  Shared<const ComputeDag> dag = parse_dag(options.workload);
  const Target target =
      use.is_run ? parse_runnable_target(options.target) : parse_target(options.target);
  // "cuda" is another device on another machine: records have its name.
  const std::string target_name = target.kind == TargetKind::cuda ? target.name : options.target;
  std::optional<ReplayedRecord> best;
  const bool is_plain = use.allows_plain && options.database.empty() &&
                        !std::filesystem::exists(journal_path(options));
  if (!is_plain) {
    std::vector<std::string> skipped;
    best = best_replayed(load_journal(options), dag, options.workload, target_name,
                         options.num_threads, skipped);
    if (!best) {
      throw Error("\"" + journal_path(options) + "\" holds no " +
                  (skipped.empty() ? "successful" : "usable") + " trial of " + options.workload +
                  " for target " + target_name + " on " + std::to_string(options.num_threads) +
                  (options.num_threads == 1 ? " thread" : " threads") +
                  (skipped.empty() ? "" : "; " + skipped.front()));
    }
    for (const std::string& sentence : skipped) {
      warn(journal_path(options) + ": " + sentence);
    }
  }
  State state = best                              ? std::move(best->state)
                : target.kind == TargetKind::cuda ? drawn_gpu_state(dag, target)
                                                  : replay_steps(dag, {});
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
