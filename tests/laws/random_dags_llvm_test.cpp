// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Whatever program somebody writes gives the interpreter's result or a sentence, never a signal.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/full_count.hpp"
#include "support/random_dags.hpp"
#include "support/random_steps.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/kernel.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

namespace {

void run_in_order(const KernelRuntime*, ParallelBody body, void* closure, std::int64_t count) {
  body(closure, 0, count, 0);
}

/// What the kernel leaves in its arguments.
std::vector<HostArray> outputs_of(const JitKernel& kernel, const CompiledObject& object,
                                  std::vector<HostArray> arrays) {
  std::vector<AlignedBuffer<std::byte>> memory;
  std::vector<void*> pointers;
  for (const HostArray& array : arrays) {
    memory.emplace_back(array.data.size());
    std::memcpy(memory.back().data(), array.data.data(), array.data.size());
    pointers.push_back(memory.back().data());
  }
  AlignedBuffer<std::byte> workspace(static_cast<std::size_t>(object.workspace_bytes(1)) + 64);
  const KernelRuntime runtime{&run_in_order, nullptr, 1};
  kernel.entry()(pointers.data(), workspace.data(), &runtime);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::memcpy(arrays[i].data.data(), memory[i].data(), arrays[i].data.size());
  }
  return arrays;
}

struct DrawnProgram {
  Shared<const ComputeDag> dag;
  std::vector<HostArray> given, expected;  ///< by argument
};

/// The interpreter's results, which every program of the generator has.
DrawnProgram draw_program(CounterRng& rng) {
  DrawnProgram made{test::RandomDag(rng).make(), {}, {}};
  made.given = test::random_inputs(*made.dag, rng);
  std::vector<HostArray> inputs;
  for (std::size_t i = 0; i < made.given.size(); ++i) {
    const TensorInfo& tensor = made.dag->tensor(made.dag->arguments()[i]);
    if (made.dag->operation(tensor.operation).is_placeholder()) {
      inputs.push_back(made.given[i]);
    }
  }
  const auto outputs = eval_dag(*made.dag, inputs);
  REQUIRE(outputs);
  made.expected = made.given;
  std::size_t next = 0;
  for (std::size_t i = 0; i < made.given.size(); ++i) {
    const TensorInfo& tensor = made.dag->tensor(made.dag->arguments()[i]);
    if (!made.dag->operation(tensor.operation).is_placeholder()) {
      made.expected[i] = (*outputs)[next++];
    }
  }
  return made;
}

}  // namespace

TEST_CASE("random programs: interpreter, loop program and machine code agree bit for bit") {
  const std::uint32_t count = test::full_count(test::scaled(500), 500);
  LlvmCompiler compiler(host_target());
  CounterRng rng(test::seed(), 0);
  std::uint32_t num_equal = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    const DrawnProgram made = draw_program(rng);
    CAPTURE(n, te::dag_text(*made.dag));
    State state = State::initial(made.dag);
    if (n % 3 > 0) {
      state = test::random_state(rng, made.dag, 8);
    }
    CAPTURE(state_text(state));
    const auto program = lower(state, host_target());
    if (!program) {
      CHECK_FALSE(explain(program.error()).empty());
      continue;
    }
    CAPTURE(to_text(*program));
    REQUIRE(is_valid(verify(*program)));
    std::vector<HostArray> interpreted = made.given;
    REQUIRE(eval(*program, interpreted));
    const auto object = compiler.compile(*program);
    if (!object) {
      FAIL_CHECK(object.error());
      continue;
    }
    const auto kernel = JitKernel::load(*object);
    REQUIRE(kernel);
    const std::vector<HostArray> computed = outputs_of(*kernel, *object, made.given);
    for (std::size_t i = 0; i < made.given.size(); ++i) {
      CAPTURE(i);
      CHECK(interpreted[i] == made.expected[i]);
      CHECK(computed[i] == made.expected[i]);
    }
    ++num_equal;
  }
  CHECK(num_equal > count * 0.8);
}

TEST_CASE("random programs can be tuned: a verified kernel or a sentence") {
  const std::uint32_t count = test::full_count(test::scaled(48), 500);
  CounterRng rng(test::seed(), 1);
  std::uint32_t num_found = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    TuneTask task;
    task.dag = test::RandomDag(rng).make();
    task.target = host_target();
    CAPTURE(n, te::dag_text(*task.dag));
    TuneOptions options;
    options.budget = {0, 3};
    options.seed = n;
    try {
      const TuneResult result = tune(task, options);
      const TuneSummary& summary = result.summary;
      CAPTURE(summary.first_failure);
      CHECK((result.has_best() || !summary.first_failure.empty()));
      CHECK((!result.has_best() || summary.is_verified));
      for (const MeasureStatus bad : {MeasureStatus::crashed, MeasureStatus::out_of_bounds,
                                      MeasureStatus::wrong_result, MeasureStatus::compile_error}) {
        CHECK(summary.statuses[static_cast<std::size_t>(bad)] == 0);
      }
      num_found += result.has_best() ? 1 : 0;
    } catch (const Error& error) {
      CHECK_FALSE(std::string(error.what()).empty());
    }
  }
  CHECK(num_found > count * 0.9);
}
