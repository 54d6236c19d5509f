// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Every named workload as code for 64-bit Arm, executed by an emulator and verified as trials are.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn_states.hpp"
#include "support/emulated_arm.hpp"
#include "support/every_workload.hpp"
#include "support/full_count.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/ops/definition.hpp"
#include "tensorsmith/tune/measure_task.hpp"

using namespace tensorsmith;

namespace {

/// Inputs and references of a workload.
MeasureTask verified_task(const ops::Workload& workload) {
  const Shared<const ComputeDag> definition = ops::definition_of(workload);
  MeasureTask task = make_measure_task(*workload.dag, 1, 1, definition.get());
  REQUIRE(add_reference(task, definition, {}));
  return task;
}

test::ArgumentBytes arguments_of(const MeasureTask& task) {
  test::ArgumentBytes arguments;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    const KernelArgument& argument = task.arguments[i];
    arguments.emplace_back(static_cast<std::size_t>(argument.num_bytes()));
    if (argument.is_output) {
      poison_output(argument, argument.reference, arguments.back());
    } else {
      fill_input(task, i, arguments.back());
    }
  }
  return arguments;
}

/// Empty, or what is wrong with an output.
std::string verdict_of(const MeasureTask& task, const test::ArgumentBytes& arguments) {
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    const KernelArgument& argument = task.arguments[i];
    if (argument.is_output) {
      REQUIRE(!argument.reference.empty());
      const double rms = rms_of(values_of(argument, argument.reference), argument.reference_dtype);
      const Verdict verdict = verify_output(argument, argument.reference, rms, arguments[i]);
      if (verdict.status != MeasureStatus::ok) {
        return argument.name + ": " + verdict.message;
      }
    }
  }
  return "";
}

/// As written, and as often drawn. How many programs ran.
std::size_t check_workloads(const char* processor, test::ArmCode code, std::size_t first,
                            std::size_t step, std::uint32_t num_drawn) {
  const Target target = *Target::from_name(processor);
  test::EmulatedArm arm(target, code);
  const std::vector<std::string> texts = test::every_workload();
  std::vector<MeasureTask> tasks;
  std::vector<std::size_t> task_of;
  for (std::size_t w = first; w < texts.size(); w += step) {
    INFO(processor << ", " << texts[w]);
    const auto workload = ops::parse_workload(texts[w]);
    REQUIRE(workload);
    tasks.push_back(verified_task(*workload));
    const test::ArgumentBytes arguments = arguments_of(tasks.back());
    const auto add = [&](const State& state, const std::string& title) {
      if (auto program = lower(state, target)) {
        arm.add(std::move(*program), title, arguments);
        task_of.push_back(tasks.size() - 1);
      }
    };
    add(State::initial(workload->dag), texts[w] + " as written");
    const SearchSpace space = test::small_native_space(workload->dag, target);
    for (std::uint32_t number = 0; number < num_drawn; ++number) {
      CounterRng rng(test::seed(), 41, static_cast<std::uint32_t>(w), number);
      if (const std::optional<State> state = test::draw_native_state(space, rng)) {
        add(*state, texts[w] + " drawn with seed " + std::to_string(test::seed()) + ", number " +
                        std::to_string(number));
      }
    }
  }
  CHECK(arm.size() > tasks.size() * (1 + num_drawn) * 3 / 4);
  REQUIRE(arm.run() == "");
  for (std::size_t i = 0; i < arm.size(); ++i) {
    INFO(processor << ", " << arm.title(i));
    CHECK(verdict_of(tasks[task_of[i]], arm.arguments(i)) == "");
  }
  return arm.size();
}

/// Every how many of the workloads is taken: fewer of them in builds that are slow.
std::size_t stride(std::uint32_t usual, std::uint32_t of_all) {
  return test::full_count(usual * 16 / test::scaled(16), of_all);
}

bool has_arm_tools() {
  const std::string missing = test::missing_for_arm();
  if (!missing.empty()) {
    test::skip(missing);
  }
  return missing.empty();
}

}  // namespace

TEST_CASE("the list of workloads has every kind with all of its types") {
  std::set<std::string> kinds;
  for (const std::string& text : test::every_workload()) {
    const auto workload = ops::parse_workload(text);
    INFO(text << (workload ? "" : ": " + workload.error()));
    REQUIRE(workload);
    kinds.insert(workload->kind);
  }
  CHECK(kinds.size() == ops::workload_grammar.size());
  CHECK(test::every_workload().size() > 4 * kinds.size());
}

TEST_CASE("what is wrong with a program for Arm is found and named", "[arm]") {
  if (!has_arm_tools()) {
    return;
  }
  const Target target = *Target::from_name("neoverse-n1");
  const auto workload = ops::parse_workload("pointwise:5x9:f32,relu");
  REQUIRE(workload);
  const MeasureTask task = verified_task(*workload);
  const test::ArgumentBytes arguments = arguments_of(task);
  CHECK(verdict_of(task, arguments) != "");  // nothing ran yet
  const auto program = lower(State::initial(workload->dag), target);
  REQUIRE(program);
  test::EmulatedArm arm(target, test::ArmCode::machine);
  CHECK(arm.run() == "there are no programs");
  arm.add(*program, "right", arguments);
  test::ArgumentBytes with_less_room = arguments;
  with_less_room.back().resize(with_less_room.back().size() - 4);
  arm.add(*program, "too long", with_less_room);
  CHECK(arm.run() == "too long: wrote outside of an argument or the workspace");
  CHECK(verdict_of(task, arm.arguments(0)) == "");
}

TEST_CASE("machine code for Arm of every named workload is right", "[arm]") {
  if (!has_arm_tools()) {
    return;
  }
  const std::uint32_t num_drawn = test::full_count(1, 3);
  const std::size_t step = stride(3, 1);  // a third of them each, or all
  std::size_t checked = 0, turn = 0;
  for (const char* processor : {"neoverse-n1", "cortex-a72", "neoverse-v1"}) {
    checked += check_workloads(processor, test::ArmCode::machine, turn++ % step, step, num_drawn);
  }
  CHECK(checked * step >= 4 * test::every_workload().size());  // of 6, or of 12
}

TEST_CASE("exported C++ for Arm of every kind of workload builds and is right", "[arm]") {
  if (!has_arm_tools()) {
    return;
  }
  const std::size_t step = stride(9, 2);
  const std::size_t least = test::every_workload().size() / step;  // of twice as many
  CHECK(check_workloads("neoverse-n1", test::ArmCode::exported, 0, step, 1) > least);
  CHECK(check_workloads("cortex-a76", test::ArmCode::exported_loops, 1, step, 1) > least);
}
