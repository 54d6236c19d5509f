// requires: json
// Complete programs of the reference: every record reads, replays to the printed state with the
// same bounds, and is written back byte for byte.
#include "tensorsmith/sched/bounds.hpp"

#include <algorithm>
#include <map>

#include "support/catch.hpp"
#include "support/extent_text.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/feature/range_text.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith::test {
namespace {

/// The range, of a loop of one iteration that no text shows, whose minimum the reference writes in
/// another form of the same value (docs/decisions/0004): "task, sample, stage, iterator, range".
bool is_written_otherwise(const Json& line, const std::string& stage, const std::string& iterator,
                          const std::string& range) {
  const std::string place = line.at("task").get<std::string>() + ", " + line.at("sample").dump() +
                            ", " + stage + ", " + iterator + ", " + range;
  return place == "winograd_nhwc_1x28x28x128_128, 25, data_pad, i1, "
                  "[p_outer_ci_outer_fused // 2 * 4 + eps - p_outer_ci_outer_fused // 14 * 28, "
                  "1]";
}

std::string range_of(const Json& golden) {
  const auto text = [](const Json& end) {
    return end.is_string() ? end.get<std::string>() : end.dump();
  };
  return "[" + text(golden[0]) + ", " + text(golden[1]) + "]";
}

void check_stage(const State& state, const StateRanges& ranges, std::size_t id, const Json& line) {
  const Json& expected = line.at("stages")[id];
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
    CHECK(*it.extent == largest_extent(golden[1][1]));
    if (stage.is_placeholder) {
      continue;
    }
    REQUIRE(i < ranges[id].size());
    const std::string ours = "[" + ranges[id][i].minimum + ", " + ranges[id][i].extent + "]";
    const std::string theirs = range_of(golden[1]);
    if (is_written_otherwise(line, state.operation(id).name, it.name, theirs)) {
      CHECK(ours != theirs);  // once they agree, no exception is needed
    } else {
      CHECK(ours == theirs);
    }
  }
}

void check_sample(const Json& line, const State& initial) {
  const std::string text = line.at("record");
  const auto record = ansor_record_from_line(text);
  if (!record) {
    FAIL_CHECK(record.error().message);
    return;
  }
  const auto written = ansor_record_to_line(*record);
  REQUIRE(written.has_value());
  CHECK(*written == text);
  CHECK(record->workload_key == te::workload_key(*initial.initial_dag()));
  const auto state = replay(initial, record->steps);
  if (!state) {
    FAIL_CHECK(explain(state.error(), initial));
    return;
  }
  const auto bounded = infer_bounds(*state);
  if (!bounded) {
    FAIL_CHECK(explain(bounded.error(), *state));
    return;
  }
  const auto ranges = range_texts(*bounded);
  REQUIRE(ranges.has_value());
  REQUIRE(bounded->num_stages() == line.at("stages").size());
  for (std::size_t id = 0; id < bounded->num_stages(); ++id) {
    check_stage(*bounded, *ranges, id, line);
  }
  CHECK(state_text(*bounded, {.ranges = &*ranges}) == line.at("state").get<std::string>());
}

void check_samples(const std::string& file) {
  ComparedRows rows(file);
  std::map<std::string, State> initial;  // one per task: derived dags are shared
  for (const Json& line : read_json_lines(golden_path(file))) {
    const std::string task = line.at("task");
    INFO(task << ", sample " << line.at("sample"));
    if (initial.count(task) == 0) {
      initial.emplace(task, State::initial(golden_task(task).dag));
    }
    check_sample(line, initial.at(task));
    ++rows;
  }
}

}  // namespace

TEST_CASE("CPU samples of the reference: record, state and bounds", "[golden]") {
  check_samples("samples_cpu.jsonl");
}

TEST_CASE("CUDA samples of the reference: record, state and bounds", "[golden]") {
  check_samples("samples_cuda.jsonl");
}

}  // namespace tensorsmith::test
