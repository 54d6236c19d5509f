// SPDX-License-Identifier: Apache-2.0
// tensorsmith explain WORKLOAD: schedule, loops and assembly of the best program.
#include <fmt/format.h>

#include "best_schedule.hpp"
#include "command.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/tune/backend.hpp"

namespace tensorsmith::cli {
namespace {

struct ExplainArguments {
  WorkloadOptions common;
  bool state = false, loops = false, assembly = false;
};

int explain_workload(const ExplainArguments& arguments) {
  const BestSchedule best = load_schedule(arguments.common, {.allows_plain = true});
  const bool all = !arguments.state && !arguments.loops && !arguments.assembly;
  Json json;
  json["workload"] = arguments.common.workload;
  json["target"] = arguments.common.target;
  if (best.record) {
    json["record"] = {{"min_ns", best.record->min_ns},
                      {"median_ns", best.record->median_ns},
                      {"simulated", best.task.target.is_simulated},
                      {"trial", best.record->trial},
                      {"seed", best.record->seed},
                      {"verified", best.record->is_verified}};
    json["steps"] = Json::parse(steps_to_text(best.record->steps));
  } else {
    json["record"] = nullptr;
    json["steps"] = Json::array();
  }
  if (all || arguments.state) {
    json["state"] = state_text(best.state);
  }
  if (all || arguments.loops) {
    json["loops"] = to_text(best.programs.main);
    if (best.programs.prepack) {
      json["prepack"] = to_text(*best.programs.prepack);
    }
  }
  const Owned<Backend> backend = make_backend(best.task.target);
  if (const std::string model = backend->model_text(best.state);
      !model.empty() && (all || arguments.loops)) {
    json["simulated"] = model;
  }
  if (arguments.assembly) {
    json["assembly"] = backend->assembly(best.state, arguments.common.num_threads);
  }
  if (arguments.common.is_json) {
    print_json(json);
    return exit_ok;
  }
  if (best.record) {
    fmt::print("best of the journal: {}{}, trial {}, {}\n", recorded_text(*best.record),
               best.task.target.is_simulated ? ", predicted by the model" : "", best.record->trial,
               best.record->is_verified ? "verified" : "not verified");
    fmt::print("steps: {}\n", steps_to_text(best.record->steps));
  } else {
    fmt::print("no journal: the program as written\n");
  }
  for (const char* part : {"state", "loops", "prepack", "simulated", "assembly"}) {
    if (json.contains(part)) {
      fmt::print("\n{}:\n{}\n", part, json[part].get<std::string>());
    }
  }
  return exit_ok;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command =
      app.add_subcommand("explain", "Show the schedule, loops and assembly of the best program.\n"
                                    "Example: tensorsmith explain gemm:512x512x512:f32 --asm");
  add_workload_options(*command, arguments->common);
  command->add_flag("--state", arguments->state, "the schedule only");
  command->add_flag("--loops", arguments->loops, "the loops only");
  command->add_flag("--asm", arguments->assembly,
                    "the machine code as assembly, for that number of --threads");
  command->callback(
      [arguments, &action] { action = [arguments] { return explain_workload(*arguments); }; });
}

}  // namespace tensorsmith::cli
