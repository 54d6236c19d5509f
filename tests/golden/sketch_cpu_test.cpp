// SPDX-License-Identifier: Apache-2.0
// The CPU sketches of every golden task: number, order, steps and printed state.
#include "tensorsmith/sketch/cpu_rules.hpp"

#include <algorithm>
#include <map>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/sketch/generate.hpp"

namespace tensorsmith::test {
namespace {

std::map<std::string, std::vector<Json>> golden_sketches(const GoldenFile& file) {
  std::map<std::string, std::vector<Json>> by_task;
  for (const Json& sketch : read_json_lines(file.path)) {
    by_task[sketch["task"]].push_back(sketch);
  }
  return by_task;
}

std::vector<State> sketches_of(const GoldenTask& task, std::int32_t num_cores) {
  SketchOptions options;
  options.hardware.num_cores = num_cores;
  return generate_sketches(task.dag, ansor_cpu_rules(), options);
}

}  // namespace

TEST_CASE("CPU sketches equal the reference's on every golden task") {
  for (const GoldenFile& file : golden_files("sketches_cpu.jsonl")) {
    ComparedRows rows(file.name);
    rows.of("sketches in generation order");
    for (const auto& [task, expected] : golden_sketches(file)) {
      INFO("task " << task);
      const std::vector<State> sketches = sketches_of(golden_task(task), 2);
      CHECK(sketches.size() == expected.size());
      for (std::size_t i = 0; i < sketches.size() && i < expected.size(); ++i) {
        INFO("sketch " << i);
        CHECK(expected[i]["sketch"].get<std::size_t>() == i);
        CHECK(Json::parse(steps_json(sketches[i].steps())) == expected[i]["steps"]);
        CHECK(state_text(sketches[i]) == expected[i]["state"].get<std::string>());
        ++rows;
      }
    }
  }
}

TEST_CASE("numbers of CPU sketches with four cores are those of ch. 11.3") {
  const auto count = [](const std::string& task) {
    return sketches_of(own_golden_task(task), 4).size();
  };
  CHECK(count("matmul_512x512x512") == 3);
  CHECK(count("matmul_8x8x512") == 5);
  CHECK(count("chained_matmul_512") == 9);
  CHECK(count("conv2d_nhwc_bias_relu_1x56x56x64_64_3x3") == 3);
  CHECK(count("maxpool_nhwc_1x28x28x32_2x2_p1") == 1);
  CHECK(count("min_10x1024") == 3);
  CHECK(count("softmax_1024x1000") == 9);
  CHECK(count("norm_1x1000x1000") == 3);
  CHECK(count("winograd_nhwc_1x28x28x128_128") == 3);
  CHECK(count("sum_rank0_128") == 3);
}

TEST_CASE("the one sketch of a small pool has no steps") {
  const std::vector<State> sketches =
      sketches_of(own_golden_task("maxpool_nhwc_1x28x28x32_2x2_p1"), 4);
  REQUIRE(sketches.size() == 1);
  CHECK(sketches[0].steps().empty());
}

TEST_CASE("orders that ch. 11.3 names: matmul 8x8x512 begins with rfactor, softmax ends empty") {
  const std::vector<State> matmul = sketches_of(own_golden_task("matmul_8x8x512"), 4);
  REQUIRE(matmul.size() == 5);
  for (std::size_t i = 0; i < matmul.size(); ++i) {
    const std::vector<Step>& steps = matmul[i].steps();
    const bool has_rfactor = std::any_of(steps.begin(), steps.end(), [](const Step& step) {
      return std::holds_alternative<RfactorStep>(step);
    });
    CHECK(has_rfactor == (i < 2));
  }
  const std::vector<State> softmax = sketches_of(own_golden_task("softmax_1024x1000"), 4);
  REQUIRE(softmax.size() == 9);
  CHECK(softmax[8].steps().empty());
}

}  // namespace tensorsmith::test
