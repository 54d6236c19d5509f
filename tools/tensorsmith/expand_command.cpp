// SPDX-License-Identifier: Apache-2.0
// tensorsmith expand WORKLOAD: the computation in index notation.
#include <fmt/format.h>

#include "command.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace tensorsmith::cli {
namespace {

int expand_workload(const WorkloadOptions& options) {
  if (options.workload.empty()) {
    throw Error("expand needs a workload, e.g. gemm:512x512x512:f32");
  }
  const TuneTask task = named_task(options.workload, Target());
  const Result<std::string, std::string> text = te::write_notation(*task.dag);
  if (!text) {
    throw Error(text.error());
  }
  if (options.is_json) {
    print_json({{"workload", options.workload},
                {"notation", *text},
                {"workload_key", te::workload_key(*task.dag)},
                {"flop", task.flop}});
  } else {
    fmt::print("{}\n", *text);
  }
  return exit_ok;
}

}  // namespace

void add_expand(CLI::App& app, Action& action) {
  const auto options = std::make_shared<WorkloadOptions>();
  CLI::App* command = app.add_subcommand(
      "expand",
      "Print a workload in index notation (docs/notation.md), which every command takes.\n"
      "Example: tensorsmith expand softmax:512x1000");
  add_workload_argument(*command, *options);
  command->add_flag("--json", options->is_json, "one JSON object on standard output");
  command->callback(
      [options, &action] { action = [options] { return expand_workload(*options); }; });
}

}  // namespace tensorsmith::cli
