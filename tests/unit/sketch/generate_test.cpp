// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/generate.hpp"

#include "support/catch.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/custom_rule.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

SketchOptions four_cores() {
  SketchOptions options;
  options.hardware.num_cores = 4;
  return options;
}

}  // namespace

TEST_CASE("matmul: plain tiling, then the cache fused at level 1 and at level 2") {
  const auto sketches =
      generate_sketches(test::matmul_dag(512, 512, 512), ansor_cpu_rules(), four_cores());
  REQUIRE(sketches.size() == 3);
  CHECK(sketches[0].steps().size() == 4);
  CHECK(sketches[1].steps().size() == 9);
  CHECK(sketches[2].steps().size() == 9);
  CHECK(std::get<ComputeAtStep>(sketches[1].steps().back()).target_iterator == 1);
  CHECK(std::get<ComputeAtStep>(sketches[2].steps().back()).target_iterator == 3);
  for (const State& sketch : sketches) {
    CHECK_FALSE(sketch.is_concrete());
  }
}

TEST_CASE("a custom rule that finishes at once is asked first and hides the others") {
  const CustomRule twice(
      "twice",
      [](const RuleInput& input) {
        return input.stage == 2 ? Applicability::apply_and_skip_rest : Applicability::skip;
      },
      [](const RuleInput& input) {
        return std::vector<Derivation>{{input.state, -1}, {input.state, -1}};
      });
  const auto sketches = generate_sketches(test::matmul_dag(512, 512, 512),
                                          ansor_cpu_rules().preceded_by(twice), four_cores());
  CHECK(sketches.size() == 2);  // ch. 11.3
}

TEST_CASE("a custom rule that applies adds to what the others derive") {
  const CustomRule also(
      "also",
      [](const RuleInput& input) {
        return input.stage == 2 && input.state.steps().empty() ? Applicability::apply
                                                               : Applicability::skip;
      },
      [](const RuleInput& input) {
        State state = input.state;
        grow(state, ReorderStep{2, {2, 0, 1}});
        return std::vector<Derivation>{{std::move(state), -1}};
      });
  const auto sketches = generate_sketches(test::matmul_dag(512, 512, 512),
                                          ansor_cpu_rules().preceded_by(also), four_cores());
  REQUIRE(sketches.size() == 4);
  CHECK(sketches[0].steps().size() == 1);
}

TEST_CASE("splits before an rfactor are open in the sketch") {
  const auto sketches =
      generate_sketches(test::matmul_dag(8, 8, 512), ansor_cpu_rules(), four_cores());
  REQUIRE(sketches.size() == 5);
  for (std::size_t i = 0; i < 2; ++i) {
    const SplitStep& split = std::get<SplitStep>(sketches[i].steps()[0]);
    CHECK(split.lengths == LengthList{unknown_length});
    CHECK_FALSE(sketches[i].is_concrete());
  }
}

TEST_CASE("the same workload gives the same sketches") {
  const auto dag = test::row_sum_dag(32, 1024);
  const auto first = generate_sketches(dag, ansor_cpu_rules(), four_cores());
  const auto second = generate_sketches(dag, ansor_cpu_rules(), four_cores());
  REQUIRE(first.size() == second.size());
  CHECK(first.size() == 3);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].steps() == second[i].steps());
    CHECK(state_text(first[i]) == state_text(second[i]));
  }
}

}  // namespace tensorsmith
