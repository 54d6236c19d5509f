// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "tensorsmith/tune/measure_once.hpp"

#include <span>
#include <utility>

#include "tensorsmith/support/error.hpp"
#include "tune/task_inputs.hpp"

namespace tensorsmith {
namespace {

constexpr std::uint64_t once_input_seed = 1;

BuiltCandidate build_or_throw(const Backend& backend, const State& state,
                              std::int32_t num_threads) {
  Result<BuiltCandidate, MeasureFault> built = backend.make_builder(num_threads)->build(state);
  if (!built) {
    throw Error("the schedule cannot be compiled: " + built.error().message);
  }
  return std::move(built).value();
}

void require_done(const Result<Done, MeasureFault>& done) {
  if (!done) {
    throw Error(done.error().message);
  }
}

}  // namespace

MeasureResult measure_once(const TuneTask& task, const State& state, const OnceOptions& options) {
  const Owned<Backend> backend = make_backend(task.target);
  if (!backend->facts().runs_code) {
    throw Error("target " + task.target.name + " is simulated, so nothing can be run");
  }
  const BuiltCandidate built = build_or_throw(*backend, state, options.num_threads);
  if (const std::string problem = memory_problem(*task.dag); !problem.empty()) {
    throw Error(problem);
  }
  const Owned<Measurer> measurer = backend->make_measurer(options.measuring);
  MeasureTask measured = make_measure_task(*task.dag, options.num_threads, once_input_seed);
  give_inputs(measured, *task.dag, task.inputs);
  measured.device = task.target.device.value_or(-1);
  if (options.verifies) {
    const Result<double, MeasureFault> referenced =
        add_reference(measured, task.dag, backend->make_reference());
    if (!referenced) {
      throw Error(referenced.error().message);
    }
  }
  require_done(measurer->prepare(measured));
  const CompiledCandidate candidate = candidate_of(built, 1);
  MeasureContext context;
  context.racing.verify = options.verifies;
  return measurer->measure(std::span<const CompiledCandidate>(&candidate, 1), context).front();
}

TuneResult compile_once(const TuneTask& task, const State& state, std::int32_t num_threads) {
  BuiltCandidate built = build_or_throw(*make_backend(task.target), state, num_threads);
  TuneResult result;
  result.task = task;
  result.num_threads = num_threads;
  result.steps = state.steps();
  result.signature = signature_of(built, *task.dag);
  result.object = std::move(built.object);
  return result;
}

}  // namespace tensorsmith
