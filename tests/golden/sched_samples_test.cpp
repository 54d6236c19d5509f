// SPDX-License-Identifier: Apache-2.0
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
    // A text says nothing of the values that its variables take; the texts are compared below.
    const std::int64_t largest = largest_extent(golden[1][1]);
    CHECK(*it.extent <= largest);
    if (golden_is_own() || !golden[1][1].is_string()) {
      CHECK(*it.extent == largest);
    }
    if (stage.is_placeholder) {
      continue;
    }
    REQUIRE(i < ranges[id].size());
    const std::string ours = "[" + ranges[id][i].minimum + ", " + ranges[id][i].extent + "]";
    const std::string theirs = range_of(golden[1]);
    CHECK(ours == theirs);
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

void check_samples(const GoldenFile& file) {
  ComparedRows rows(file.name);
  std::map<std::string, State> initial;  // one per task: derived dags are shared
  for (const Json& line : read_json_lines(file.path)) {
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
  for (const GoldenFile& file : golden_files("samples_cpu.jsonl")) {
    check_samples(file);
  }
}

TEST_CASE("CUDA samples of the reference: record, state and bounds", "[golden]") {
  for (const GoldenFile& file : golden_files("samples_cuda.jsonl")) {
    check_samples(file);
  }
}

}  // namespace tensorsmith::test
