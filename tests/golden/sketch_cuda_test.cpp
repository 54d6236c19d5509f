// The CUDA sketches of every golden task: number, order, steps and printed state.
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
  std::map<std::string, std::vector<Json>> golden;
  for (Json& sketch : read_json_lines(golden_path("sketches_cuda.jsonl"))) {
    golden[sketch.at("task")].push_back(std::move(sketch));
  }
  // The machine that the data are for (sm_80).
  const SketchOptions options = gpu_sketch_options({-1, 16, 64, 49152, 2147483647, 1024, 8, 32});
  std::size_t count = 0;
  for (const auto& [task, expected] : golden) {
    INFO("task " << task);
    const std::vector<State> sketches =
        generate_sketches(golden_task(task).dag, ansor_gpu_rules(), options);
    CHECK(sketches.size() == expected.size());
    for (std::size_t i = 0; i < sketches.size() && i < expected.size(); ++i, ++count) {
      INFO("sketch " << i);
      CHECK(expected[i].at("sketch").get<std::size_t>() == i);
      CHECK(Json::parse(steps_json(sketches[i].steps())) == expected[i].at("steps"));
      CHECK(state_text(sketches[i]) == expected[i].at("state").get<std::string>());
    }
  }
  WARN("sketches_cuda.jsonl: " << count << " sketches of " << golden.size() << " tasks compared");
  CHECK(count > 0);
}

}  // namespace tensorsmith::test
