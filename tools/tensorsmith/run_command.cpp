// tensorsmith run WORKLOAD: the journal's best schedule, compiled, verified and timed again.
#include <algorithm>

#include <fmt/format.h>

#include "best_schedule.hpp"
#include "command.hpp"
#include "cpu/host.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"
#include "tune/compile.hpp"
#include "tune/cuda_device.hpp"
#include "tune/measure_task.hpp"

namespace tensorsmith::cli {
namespace {

int run_workload(const WorkloadOptions& options) {
  const Target target = parse_runnable_target(options.target);
  if (target.is_simulated) {
    throw Error("target " + options.target +
                " is simulated, so nothing can be run; tensorsmith explain shows what was found");
  }
  const BestSchedule best = load_schedule(options, {.is_run = true});
  const bool is_on_gpu = target.device.has_value();
  const Result<BuiltCandidate, MeasureFault> built =
      (is_on_gpu ? make_cuda_builder(target) : make_candidate_builder(target, options.num_threads))
          ->build(best.state);
  if (!built) {
    throw Error("the schedule cannot be compiled: " + built.error().message);
  }
  if (const std::string problem = memory_problem(*best.dag); !problem.empty()) {
    throw Error(problem);
  }
  if (const std::string problem = worker_program_problem(); !problem.empty()) {
    throw Error(problem);
  }
  WorkerMeasurer measurer;
  MeasureTask task = make_measure_task(*best.dag, options.num_threads, 1);
  task.device = target.device.value_or(-1);
  const Result<double, MeasureFault> referenced =
      add_reference(task, best.dag, make_plain_runner(is_on_gpu ? host_target() : target));
  if (!referenced) {
    throw Error(referenced.error().message);
  }
  if (const Result<Done, MeasureFault> prepared = measurer.prepare(task); !prepared) {
    throw Error(prepared.error().message);
  }
  const CompiledCandidate candidate = candidate_of(*built, 1);
  const std::vector<MeasureResult> results =
      measurer.measure(std::span<const CompiledCandidate>(&candidate, 1), MeasureContext{});
  const MeasureResult& result = results.front();
  const double flop = std::max(0.0, workload_flop(options.workload));
  Json json;
  json["workload"] = options.workload;
  json["target"] = options.target;
  json["threads"] = options.num_threads;
  json["status"] = std::string(name_of(result.status));
  json["ns"] = result.is_ok() ? Json(result.median_ns) : Json(nullptr);
  json["gflops"] = result.is_ok() ? Json(flop / result.median_ns) : Json(nullptr);
  json["verified"] = result.is_verified;
  json["recorded_ns"] = best.record->min_ns;
  json["journal"] = journal_path(options);
  json["message"] = result.message;
  if (options.is_json) {
    print_json(json);
  } else if (result.is_ok()) {
    fmt::print("{}: {}, {:.1f} GFLOP/s, {} (recorded: {})\n", options.workload,
               duration_text(result.median_ns), flop / result.median_ns,
               result.is_verified ? "verified" : "not verified",
               duration_text(best.record->min_ns));
  }
  if (!result.is_ok()) {
    warn(fmt::format("{}: {}", name_of(result.status), result.message));
    return exit_failed;
  }
  return exit_ok;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<WorkloadOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run the best schedule found so far, without any search.\n"
                                "Example: tensorsmith run gemm:512x512x512:f32");
  add_workload_options(*command, *options);
  command->callback([options, &action] { action = [options] { return run_workload(*options); }; });
}

}  // namespace tensorsmith::cli
