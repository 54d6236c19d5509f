// SPDX-License-Identifier: Apache-2.0
// tensorsmith run WORKLOAD: the journal's best schedule, compiled, verified and timed again.
#include <fmt/format.h>

#include "best_schedule.hpp"
#include "command.hpp"
#include "tensorsmith/tune/measure_once.hpp"

namespace tensorsmith::cli {
namespace {

int run_workload(const WorkloadOptions& options) {
  if (!make_backend(parse_runnable_target(options.target))->facts().runs_code) {
    throw Error("target " + options.target +
                " is simulated, so nothing can be run; tensorsmith explain shows what was found");
  }
  const BestSchedule best = load_schedule(options, {.is_run = true});
  const MeasureResult result =
      measure_once(best.task, best.state, {.num_threads = options.num_threads});
  const double flop = best.task.flop;
  Json json;
  json["workload"] = options.workload;
  json["target"] = options.target;
  json["threads"] = options.num_threads;
  json["status"] = std::string(name_of(result.status));
  json["ns"] = result.is_ok() ? Json(result.median_ns) : Json(nullptr);
  json["gflops"] = result.is_ok() ? Json(flop / result.median_ns) : Json(nullptr);
  json["verified"] = result.is_verified;
  json["recorded_ns"] = best.record->min_ns;
  json["recorded_median_ns"] = best.record->median_ns;
  json["journal"] = journal_path(options);
  json["message"] = result.message;
  if (options.is_json) {
    print_json(json);
  } else if (result.is_ok()) {
    fmt::print("{}: {} (median), {:.1f} GFLOP/s, {}; recorded: {}\n", options.workload,
               duration_text(result.median_ns), flop / result.median_ns,
               result.is_verified ? "verified" : "not verified", recorded_text(*best.record));
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
