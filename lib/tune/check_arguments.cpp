// SPDX-License-Identifier: Apache-2.0
// What cannot be tuned, said before anything is done.
#include <algorithm>
#include <cmath>
#include <string>

#include "tune/f64_twin.hpp"
#include "tune/search.hpp"
#include "tune/session.hpp"

namespace tensorsmith {
namespace {

/// A kernel gets everything through its arguments and leaves something in them.
void check_dag(const ComputeDag& dag) {
  const std::vector<TensorId>& arguments = dag.arguments();
  bool computes = false;
  for (const TensorId id : arguments) {
    if (id.value >= dag.tensors().size() || !is_defined(dag, dag.tensor(id))) {
      throw Error("tune: an argument of the dag is no tensor of it");
    }
    computes = computes || !is_input(dag, dag.tensor(id));
  }
  if (!computes) {
    throw Error("tune: the dag computes nothing: its arguments are placeholders only");
  }
  for (const Operation& operation : dag.operations()) {
    const bool is_argument =
        std::any_of(operation.outputs.begin(), operation.outputs.end(), [&](TensorId output) {
          return std::find(arguments.begin(), arguments.end(), output) != arguments.end();
        });
    if (operation.is_placeholder() && !is_argument) {
      throw Error("tune: placeholder \"" + operation.name +
                  "\" is read, but it is no argument of the dag; name it in Program::dag");
    }
  }
}

}  // namespace

void check_arguments(const TuneTask& task, const TuneOptions& options) {
  if (task.dag == nullptr) {
    throw Error("tune: the task has no dag");
  }
  check_dag(*task.dag);
  if (task.target.kind != TargetKind::cpu && !task.target.is_simulated && !task.target.device) {
    const bool is_board = task.target.gpu && task.target.gpu->board;
    throw Error("tune: target " + task.target.name +
                " is a GPU, and no device of this machine: cuda_device_target() finds one, " +
                (is_board ? "sim:" + task.target.name + " simulates it"
                          : "sim:a100 and its like are simulated boards"));
  }
  if (!(options.budget.seconds >= 0) || std::isinf(options.budget.seconds) ||
      options.budget.trials < 0) {
    throw Error("tune: the budget must not be negative");
  }
  if (is_instant(options) && follows_reference(options)) {
    throw Error("tune: instant mode (no seconds, no trials) needs the native space and the policy "
                "evolution; the reference's search has no analytic model");
  }
  if (is_instant(options) && !has_draft(options, task.target)) {
    throw Error("tune: instant mode (no seconds, no trials) is there for CPUs and for boards of "
                "GPUs; give a budget");
  }
  const auto check_share = [](const char* name, double share, double most) {
    if (!(share >= 0 && share <= most)) {
      throw Error(std::string("tune: ") + name + " must be a share in 0.." +
                  (most < 1 ? "0.9" : "1"));
    }
  };
  check_share("polish", options.polish.value_or(0), 0.9);
  check_share("prior", options.prior, 0.9);
  if (!(options.diversity >= 0) || std::isinf(options.diversity)) {
    throw Error("tune: diversity must be a distance, 0 or more");
  }
  if (options.num_threads < 1 || options.num_threads > 1024) {
    throw Error("tune: the number of threads must be in 1..1024, is " +
                std::to_string(options.num_threads));
  }
}

}  // namespace tensorsmith
