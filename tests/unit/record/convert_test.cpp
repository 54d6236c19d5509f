#include "tensorsmith/record/convert.hpp"

#include "support/catch.hpp"

#include "record_fixtures.hpp"
#include "tensorsmith/record/workload_registry.hpp"

namespace tensorsmith::test {

TEST_CASE("a log record becomes a journal's that reads back", "[record]") {
  AnsorRecord log;
  log.workload_key = "[\"matmul\", 8, 8, 8]";
  log.target = "llvm -keys=cpu";
  log.hardware = AnsorHardware{4, 64, 64, 0, 0, 0, 0, 0};
  log.steps = {SplitStep{2, 0, 8, {4}, true}};
  log.costs = {0.003, 0.001, 0.002};
  const Record record = record_from_ansor(log);
  CHECK(record.min_ns == Approx(1e6));
  CHECK(record.median_ns == Approx(2e6));
  CHECK(record.num_threads == 4);
  CHECK_FALSE(record.is_verified);
  const auto read = record_from_line(record_to_line(record));
  REQUIRE(read.has_value());
  CHECK(*read == record);
  const AnsorRecord back = record_to_ansor(record);
  CHECK(back.workload_key == log.workload_key);
  CHECK(back.target == log.target);
  CHECK(back.steps == log.steps);
  CHECK(back.costs == std::vector<double>{0.001});
}

TEST_CASE("failures keep their code, times without sense are failures", "[record]") {
  AnsorRecord log;
  log.costs = {1e10};
  log.error = 6;
  CHECK(record_from_ansor(log).status == MeasureStatus::build_timeout);
  CHECK(record_to_ansor(record_from_ansor(log)).error == 6);
  CHECK(record_to_ansor(record_from_ansor(log)).costs[0] == 1e10);
  log.error = 99;
  CHECK(record_from_ansor(log).status == MeasureStatus::unknown_error);
  log.error = 0;
  log.costs = {0};
  CHECK_FALSE(record_from_ansor(log).is_ok());
  log.costs = {};
  CHECK_FALSE(record_from_ansor(log).is_ok());
}

TEST_CASE("a journal's target gets the reference's form", "[record]") {
  CHECK(record_to_ansor(some_record(1, 5)).target == "llvm -keys=cpu -mcpu=host");
  CHECK(record_to_ansor(some_record(1, 5)).costs[0] == Approx(5e-9));
}

TEST_CASE("keys name programs again", "[record]") {
  WorkloadRegistry registry = common_workloads();
  const auto matmul = registry.find("[\"matmul\", 8, 4, 2]");
  REQUIRE(matmul);
  CHECK(matmul->tensor(matmul->arguments()[0]).shape[1] == 2);
  CHECK(registry.find("[\"conv2d_nhwc\", 1, 8, 8, 4, 4, 3, 1, 1]"));
  CHECK(registry.find("[\"depthwise_nhwc\", 1, 8, 8, 4, 3, 1, 1]"));
  CHECK_FALSE(registry.find("[\"matmul\", 8, 4]"));
  CHECK_FALSE(registry.find("[\"matmul\", 8, 4, \"x\"]"));
  CHECK_FALSE(registry.find("[\"matmul\", 8, 4, -1]"));
  CHECK_FALSE(registry.find("[\"other\", 8, 4, 2]"));
  CHECK_FALSE(registry.find(te::workload_key(*matmul)));
  registry.add_program(matmul);
  CHECK(registry.find(te::workload_key(*matmul)));
}

}  // namespace tensorsmith::test
