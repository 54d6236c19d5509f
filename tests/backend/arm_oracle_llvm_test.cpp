// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The oracle chain for 64-bit Arm: eval(dag) == eval(lower(state)) == emulated machine code.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn_states.hpp"
#include "support/emulated_arm.hpp"
#include "support/exact_inputs.hpp"
#include "support/full_count.hpp"
#include "support/random_steps.hpp"
#include "support/row_workloads.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;

namespace {

using MakeArmState =
    std::function<std::optional<State>(CounterRng&, const Shared<const ComputeDag>&)>;

std::string tool_missing_for_oracle() {
  const std::string missing = test::missing_for_arm();
  if (!missing.empty()) {
    test::skip(missing);
  }
  return missing;
}

bool has_intrinsic(const LoopProgram& program) {
  return std::any_of(program.stmts.begin(), program.stmts.end(), [](const Stmt& stmt) {
    const For* loop = std::get_if<For>(&stmt);
    return loop != nullptr && loop->intrinsic != nullptr;
  });
}

test::ArgumentBytes bytes_of_all(const std::vector<HostArray>& arrays) {
  test::ArgumentBytes bytes;
  for (const HostArray& array : arrays) {
    bytes.push_back(array.data);
  }
  return bytes;
}

struct ArmOutcome {
  std::uint32_t checked = 0, with_intrinsic = 0;
};

/// All of `count` states that can be lowered, in one process.
ArmOutcome check_on_arm(const char* processor, const std::vector<test::SmallWorkload>& workloads,
                        std::uint32_t stream, std::uint32_t count, const MakeArmState& make_state) {
  const Target target = *Target::from_name(processor);
  test::EmulatedArm arm(target, test::ArmCode::machine);
  std::vector<test::ArgumentBytes> expected;
  ArmOutcome outcome;
  for (std::uint32_t number = 0; number < count; ++number) {
    const test::SmallWorkload& workload = workloads[number % workloads.size()];
    const std::string title = std::string(processor) + ", " + workload.name + ", seed " +
                              std::to_string(test::seed()) + ", number " + std::to_string(number);
    INFO(title);
    CounterRng rng(test::seed(), stream, number);
    const std::optional<State> state = make_state(rng, workload.dag);
    auto program = state ? lower(*state, target) : Result<LoopProgram, LowerError>(LoopProgram{});
    if (!state || !program) {
      continue;  // nothing legal drawn, or an attach point that does not cover a reader
    }
    const test::ExactInputs inputs = test::exact_inputs(*workload.dag, rng);
    const auto defined = eval_dag(*workload.dag, inputs.inputs);
    REQUIRE(defined);
    std::vector<HostArray> interpreted = inputs.all;
    REQUIRE(eval(*program, interpreted));
    const bool is_interpreted_right = interpreted.back().data == defined->back().data;
    REQUIRE(is_interpreted_right);
    outcome.with_intrinsic += has_intrinsic(*program) ? 1 : 0;
    expected.push_back(bytes_of_all(interpreted));
    arm.add(std::move(*program), title, bytes_of_all(inputs.all));
  }
  REQUIRE(arm.run() == "");
  for (std::size_t i = 0; i < arm.size(); ++i) {
    INFO(arm.title(i));
    const bool is_right = arm.arguments(i) == expected[i];
    CHECK(is_right);
    ++outcome.checked;
  }
  return outcome;
}

std::optional<State> random_steps(CounterRng& rng, const Shared<const ComputeDag>& dag) {
  return test::random_state(rng, dag, 16);
}

/// As the search for that processor draws them.
MakeArmState drawn_for(const char* processor) {
  const Target target = *Target::from_name(processor);
  const auto spaces = std::make_shared<std::map<const ComputeDag*, SearchSpace>>();
  return [target, spaces](CounterRng& rng, const Shared<const ComputeDag>& dag) {
    auto found = spaces->find(dag.get());
    if (found == spaces->end()) {
      found = spaces->emplace(dag.get(), test::small_native_space(dag, target)).first;
    }
    return test::draw_native_state(found->second, rng);
  };
}

}  // namespace

TEST_CASE("oracle chain for Arm on random schedules: exact", "[arm]") {
  if (!tool_missing_for_oracle().empty()) {
    return;
  }
  const std::uint32_t count = test::full_count(8 + test::scaled(60), 250);
  CHECK(check_on_arm("neoverse-n1", test::small_workloads(DType::i32), 51, count, random_steps)
            .checked > count * 0.8);
  CHECK(check_on_arm("cortex-a76", test::small_workloads(DType::f32), 52, count, random_steps)
            .checked > count * 0.8);
}

TEST_CASE("oracle chain for Arm on programs that the search draws: exact", "[arm]") {
  if (!tool_missing_for_oracle().empty()) {
    return;
  }
  const std::uint32_t count = test::full_count(8 + test::scaled(80), 300);
  CHECK(check_on_arm("cortex-a72",
                     test::with_pooled_convolutions(test::small_workloads(DType::i32)), 53, count,
                     drawn_for("cortex-a72"))
            .checked > count * 0.6);
  std::vector<test::SmallWorkload> rows;
  for (const auto& [name, dag] : test::row_workloads()) {
    rows.push_back({name, dag});
  }
  CHECK(check_on_arm("apple-m1", rows, 54, 4 + count / 4, drawn_for("apple-m1")).checked >
        count / 8);
}

TEST_CASE("oracle chain for Arm on products of bytes: exact, by the dot product instructions",
          "[arm]") {
  if (!tool_missing_for_oracle().empty()) {
    return;
  }
  const std::uint32_t count = test::full_count(8 + test::scaled(60), 300);
  auto workloads = test::narrow_products(test::small_tensor_workloads());
  for (const char* text : {"gemm:12x36x32:u8", "gemm:9x32x40:i8,tb"}) {
    workloads.push_back({text, ops::parse_workload(text)->dag});
  }
  for (const char* processor : {"neoverse-n1", "neoverse-v2"}) {  // sdot, udot; usdot besides
    const ArmOutcome outcome = check_on_arm(processor, workloads, 55, count, drawn_for(processor));
    CHECK(outcome.checked > count * 0.6);
    CHECK(outcome.with_intrinsic > count * 0.1);
  }
  CHECK(check_on_arm("cortex-a72", workloads, 56, 4 + count / 4, drawn_for("cortex-a72"))
            .with_intrinsic == 0);
}
