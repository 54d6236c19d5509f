// SPDX-License-Identifier: Apache-2.0
// requires: json
// Damaged logs of the Ansor reference. Whatever the reader takes, it must write, read again and say
// the same; steps that it takes replay or are refused. TENSORSMITH_FUZZ_SECONDS makes each longer.
#include "tensorsmith/record/ansor_log.hpp"

#include "support/catch.hpp"
#include "support/golden_data.hpp"
#include "support/text_mutator.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/record/ansor_history.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"

namespace tensorsmith::test {
namespace {

std::vector<std::string> lines_of(std::initializer_list<const char*> logs) {
  std::vector<std::string> lines;
  for (const char* log : logs) {
    for (const std::string& line : text_lines(read_text(own_golden_path(log)))) {
      lines.push_back(line);
    }
  }
  REQUIRE(lines.size() > 100);
  return lines;
}

}  // namespace

TEST_CASE("the log reader takes damage", "[fuzz]") {
  const std::vector<std::string> lines =
      lines_of({"logs/matmul_512.json", "logs/failed_records.json"});
  TextMutator mutator(seed(), json_tokens());
  std::size_t taken = 0;
  const std::size_t rounds = fuzz(3000, [&] {
    const std::string line = mutator.mutate_one(lines);
    const AnsorLog log = ansor_log_from_text(line);
    for (const AnsorRecord& record : log.records) {
      ++taken;
      INFO(line);
      const auto written = ansor_record_to_line(record);
      REQUIRE(written.has_value());
      const auto again = ansor_record_from_line(*written);
      REQUIRE(again.has_value());
      REQUIRE(again->steps == record.steps);
      REQUIRE(*ansor_record_to_line(*again) == *written);
    }
    const AnsorHistory history(log.records);
    (void)history.find(line, line, true);
  });
  CHECK(taken > 0);
  CHECK(taken < rounds);
}

TEST_CASE("damaged steps of a log replay or are refused", "[fuzz]") {
  const std::vector<std::string> lines = lines_of({"logs/matmul_512.json", "logs/conv2d_56.json"});
  const WorkloadRegistry known = common_workloads();
  std::vector<std::pair<std::string, State>> initial;
  for (const std::string& line : {lines.front(), lines.back()}) {
    const std::string key = ansor_record_from_line(line)->workload_key;
    initial.emplace_back(key, State::initial(known.find(key)));
  }
  TextMutator mutator(seed() + 1, json_tokens());
  std::size_t replayed = 0;
  const std::size_t rounds = fuzz(2000, [&] {
    std::string line = lines[mutator.below(lines.size())];
    for (std::size_t count = 1 + mutator.below(3); count > 0; --count) {
      mutator.replace_digit(line);
    }
    const auto record = ansor_record_from_line(line);
    if (!record) {
      return;
    }
    INFO(line);
    for (const auto& [key, state] : initial) {
      if (const auto result = replay(state, record->steps)) {
        ++replayed;
        REQUIRE(!state_text(*result).empty());
        REQUIRE(extract_features(*result).is_well_formed());
      }
    }
  });
  CHECK(replayed > 0);
  CHECK(replayed < 2 * rounds);
}

}  // namespace tensorsmith::test
