#include "tensorsmith/sched/bounds.hpp"

#include <map>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "support/json_steps.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"

namespace tensorsmith::test {
namespace {

/// Our text gives no minima: "for i (j_outer * 4,16)" becomes "for i (0,16)".
std::string without_minima(const std::string& text) {
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    const std::string line = text.substr(from, end - from);
    const std::size_t open = line.find(" ("), comma = line.rfind(',');
    const bool is_range = open != std::string::npos && comma != std::string::npos && comma > open &&
                          line.back() == ')';
    out += is_range ? line.substr(0, open) + " (0" + line.substr(comma) : line;
    out += '\n';
    from = end + 1;
  }
  return out;
}

bool varies(const Json& stages) {
  for (const Json& stage : stages) {
    for (const Json& iterator : stage[3]) {
      if (stage[2] != 1 && !iterator[1].is_null() && iterator[1][1].is_string()) {
        return true;
      }
    }
  }
  return false;
}

void check_stage(const State& state, std::size_t id, const Json& expected) {
  const auto& stage = state.stage(id);
  CHECK(state.operation(id).name == expected[0].get<std::string>());
  CHECK((stage.is_placeholder ? 0 : 1) == expected[1].get<int>());
  CHECK(static_cast<int>(stage.compute_at) == expected[2].get<int>());
  if (stage.compute_at == ComputeAt::inlined) {
    return;  // the reference keeps stale ranges there
  }
  REQUIRE(stage.iterators.size() == expected[3].size());
  for (std::size_t i = 0; i < stage.iterators.size(); ++i) {
    const auto& it = stage.iterators[i];
    const Json& golden = expected[3][i];
    INFO("stage " << id << ", iterator " << it.name);
    CHECK(it.name == golden[0].get<std::string>());
    CHECK(static_cast<int>(it.kind) == golden[2].get<int>());
    CHECK(static_cast<int>(it.annotation) == golden[3].get<int>());
    REQUIRE(it.extent.has_value());
    if (golden[1][1].is_number()) {
      CHECK(*it.extent == golden[1][1].get<std::int64_t>());
    }
  }
}

struct Counts {
  std::size_t samples = 0, varying = 0;
};

Counts check_samples(const std::string& file) {
  std::map<std::string, State> initial;
  Counts counts;
  for (const Json& line : read_json_lines(golden_path(file))) {
    const std::string task = line.at("task");
    INFO(task << ", sample " << line.at("sample"));
    if (initial.count(task) == 0) {
      initial.emplace(task, State::initial(golden_task(task).dag));
    }
    const auto state = replay(initial.at(task), steps_from_json(line.at("steps")));
    if (!state) {
      FAIL_CHECK(explain(state.error(), initial.at(task)));
      continue;
    }
    const auto bounded = infer_bounds(*state);
    if (!bounded) {
      FAIL_CHECK(explain(bounded.error(), *state));
      continue;
    }
    REQUIRE(bounded->num_stages() == line.at("stages").size());
    ++counts.samples;
    if (varies(line.at("stages"))) {  // the reference leaves an expression, we the largest value
      ++counts.varying;
      continue;
    }
    for (std::size_t id = 0; id < bounded->num_stages(); ++id) {
      check_stage(*bounded, id, line.at("stages")[id]);
    }
    CHECK(state_text(*bounded) == without_minima(line.at("state").get<std::string>()));
  }
  return counts;
}

TEST_CASE("CPU samples of the reference: replay and bound inference give its extents") {
  const Counts counts = check_samples("samples_cpu_subset.jsonl");
  CHECK(counts.samples == 211);
  CHECK(counts.varying <= 4);
}

TEST_CASE("CUDA samples of the reference: replay and bound inference give its extents") {
  const Counts counts = check_samples("samples_cuda_subset.jsonl");
  CHECK(counts.samples == 72);
  CHECK(counts.varying <= 4);
}

}  // namespace
}  // namespace tensorsmith::test
