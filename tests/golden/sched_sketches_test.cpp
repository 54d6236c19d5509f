// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/replay.hpp"

#include <map>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "support/json_steps.hpp"
#include "tensorsmith/sched/print_state.hpp"

namespace tensorsmith::test {
namespace {

/// Replays every sketch of the file.
void check_sketches(const GoldenFile& file) {
  ComparedRows rows(file.name);
  std::map<std::string, State> initial;  // one per task: derived dags are shared
  for (const Json& line : read_json_lines(file.path)) {
    const std::string task = line.at("task");
    INFO(task << ", sketch " << line.at("sketch"));
    if (initial.count(task) == 0) {
      initial.emplace(task, State::initial(golden_task(task).dag));
    }
    const std::vector<Step> steps = steps_from_json(line.at("steps"));
    CHECK(steps_json(steps) == steps_json(steps_from_json(Json::parse(steps_json(steps)))));
    CHECK(Json::parse(steps_json(steps)) == line.at("steps"));
    const auto state = replay(initial.at(task), steps);
    if (!state) {
      FAIL_CHECK(explain(state.error(), initial.at(task)));
      continue;
    }
    CHECK(state_text(*state) == line.at("state").get<std::string>());
    ++rows;
  }
}

TEST_CASE("initial states print as the reference's") {
  ComparedRows rows("tasks.json");
  rows.of("initial states");
  for (const GoldenTask& task : golden_tasks()) {
    INFO(task.id);
    ++rows;
    CHECK(state_text(State::initial(task.dag)) == task.facts.at("init_state").get<std::string>());
  }
}

TEST_CASE("CPU sketches of the reference replay to the printed states") {
  for (const GoldenFile& file : golden_files("sketches_cpu.jsonl")) {
    check_sketches(file);
  }
}

TEST_CASE("CUDA sketches of the reference replay to the printed states") {
  for (const GoldenFile& file : golden_files("sketches_cuda.jsonl")) {
    check_sketches(file);
  }
}

}  // namespace
}  // namespace tensorsmith::test
