// SPDX-License-Identifier: Apache-2.0
// Files as TenSet publishes them (NeurIPS 2021 datasets): the same lines as an Ansor log, one file
// per task. Its keys have all shapes in one list, its programs to measure have a cost of 0, and its
// records of slow programs the cost 1e10. The lines here are made after that description.
#include "tensorsmith/record/ansor_history.hpp"

#include "support/catch.hpp"

#include "record_fixtures.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/convert.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith::test {
namespace {

Shared<const ComputeDag> matmul() {
  const auto made = ops::parse_workload("gemm:64x64x64:f32");
  REQUIRE(made.has_value());
  return made->dag;
}

/// ["hash", [64, 64], [64, 64], ...] --> ["hash", 64, 64, 64, 64, ...], as a record escapes it.
std::string flat_key(const ComputeDag& dag) {
  std::string key;
  for (const char c : te::workload_key(dag)) {
    if (c == '"') {
      key += "\\\"";
    } else if (!((c == '[' || c == ']') && key.find(',') != std::string::npos)) {
      key += c;
    }
  }
  return key + "]";
}

std::string line_of(const std::string& key, const std::string& result, const char* version) {
  return R"({"i": [[")" + key +
         R"(", "llvm -keys=cpu -link-params=0 -mcpu=skylake-avx512 -model=platinum-8272", )"
         R"([16, 64, 64, 0, 0, 0, 0, 0], "", 1], [[], [["SP", 2, 0, 64, [4, 2, 8], 1], )"
         R"(["SP", 2, 4, 64, [1, 4, 16], 1], ["SP", 2, 8, 64, [8], 1], )"
         R"(["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["FU", 2, [0, 1, 2, 3]], )"
         R"(["AN", 2, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$16"], ["AN", 2, 5, 2]]]], "r": )" +
         result + R"(, "v": ")" + version + "\"}\n";
}

}  // namespace

TEST_CASE("TenSet's records: flat keys find their program, the steps replay", "[record]") {
  const auto dag = matmul();
  const std::string key = flat_key(*dag);
  const TemporaryFile file;
  file.write(line_of(key, "[[0.0021, 0.0019, 0.0020, 0.0020], 0, 1.3, 1620000000]", "v0.6") +
             line_of(key, "[[1e+10], 6, 15, 1620000001]", "v0.6") +
             line_of(key, "[[0.0011, 0.0013, 0.0012, 0.0012], 0, 1.2, 1620000002]", "v0.5"));
  const auto log = read_ansor_log(file.path);
  REQUIRE(log.has_value());
  REQUIRE(log->records.size() == 3);
  CHECK(log->skipped.empty());
  CHECK(log->records[0].costs.size() == 4);
  CHECK(log->records[0].workload_key.find("], [") == std::string::npos);

  WorkloadRegistry registry;
  registry.add_program(dag);
  const auto found = registry.find(log->records[0].workload_key);
  REQUIRE(found);
  CHECK(found.get() == dag.get());
  CHECK(replay(found, log->records[0].steps).has_value());

  // Asked by our key, with the shapes apart, and by a target of that model.
  const AnsorHistory history(log->records);
  const AnsorRecord* best = history.find(te::workload_key(*dag), "llvm -model=platinum-8272");
  REQUIRE(best == &log->records[2]);
  CHECK(best_ansor_record(log->records, te::workload_key(*dag)) == best);
  CHECK(record_from_ansor(*best).median_ns == Approx(1.2e6));
}

TEST_CASE("TenSet's programs to measure are no measurements", "[record]") {
  const auto dag = matmul();
  const std::string key = flat_key(*dag);
  const AnsorLog log = ansor_log_from_text(line_of(key, "[[0], 0, 0, 0]", "v0.6") +
                                           line_of(key, "[[0.5], 0, 1, 1620000002]", "v0.6"));
  REQUIRE(log.records.size() == 2);
  CHECK(log.records[0].is_ok());
  CHECK_FALSE(log.records[0].is_measured());
  CHECK(AnsorHistory(log.records).find(te::workload_key(*dag), "llvm") == &log.records[1]);
  CHECK(top_records(log.records, 5).size() == 1);
  CHECK(distil(log.records).size() == 1);
  CHECK(merge_logs({log.records})[0].mean_cost() == 0.5);
  CHECK_FALSE(record_from_ansor(log.records[0]).is_ok());
}

}  // namespace tensorsmith::test
