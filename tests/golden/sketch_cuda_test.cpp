// SPDX-License-Identifier: Apache-2.0
// The CUDA sketches of every golden task: number, order, steps and printed state.
#include <array>
#include <map>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "support/json_steps.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"

namespace tensorsmith::test {

TEST_CASE("CUDA sketches equal the reference's on every golden task") {
  for (const GoldenFile& file : golden_files("sketches_cuda.jsonl")) {
    std::map<std::string, std::vector<Json>> golden;
    for (Json& sketch : read_json_lines(file.path)) {
      golden[sketch.at("task")].push_back(std::move(sketch));
    }
    ComparedRows rows(file.name);
    rows.of("sketches in generation order");
    for (const auto& [task, expected] : golden) {
      INFO("task " << task);
      const auto p = golden_task(task)
                         .facts.at("targets")
                         .at("cuda")
                         .at("hardware_params")
                         .get<std::array<std::int32_t, 8>>();
      const std::vector<State> sketches =
          generate_sketches(golden_task(task).dag, ansor_gpu_rules(),
                            gpu_sketch_options({p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}));
      CHECK(sketches.size() == expected.size());
      for (std::size_t i = 0; i < sketches.size() && i < expected.size(); ++i, ++rows) {
        INFO("sketch " << i);
        CHECK(expected[i].at("sketch").get<std::size_t>() == i);
        CHECK(Json::parse(steps_json(sketches[i].steps())) == expected[i].at("steps"));
        CHECK(state_text(sketches[i]) == expected[i].at("state").get<std::string>());
      }
    }
  }
}

}  // namespace tensorsmith::test
