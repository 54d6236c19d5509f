// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/convert.hpp"

#include "support/catch.hpp"

#include "record_fixtures.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/te/program.hpp"

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
  CHECK(back == log);
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
  Record record = some_record(1, 5);
  const auto target_of = [&](const char* name) {
    record.target = name;
    return record_to_ansor(record).target;
  };
  CHECK(target_of("host") == "llvm -keys=cpu -model=some-cpu");
  CHECK(target_of("znver4") == "llvm -keys=cpu -mcpu=znver4");
  CHECK(target_of("llvm -keys=cpu ") == "llvm -keys=cpu ");
  CHECK(target_of("llvm") == "llvm");
  const std::string a100 = "cuda -keys=cuda,gpu -arch=sm_80 -max_num_threads=1024";
  CHECK(target_of("sm_80") == a100 + " -thread_warp_size=32");
  CHECK(target_of("a100") == a100 + " -model=a100 -thread_warp_size=32");
  CHECK(target_of("sim:a100") == a100 + " -model=sim:a100 -thread_warp_size=32");
  CHECK(record_to_ansor(record).hardware ==
        AnsorHardware{-1, 16, 64, 48 << 10, INT32_MAX, 1024, 8, 32});
  CHECK(target_of("sim:another") == "cuda -keys=cuda,gpu -model=sim:another");
  CHECK(target_of("my cpu, 2") == "llvm -keys=cpu -model=my-cpu-2");
  CHECK(record_to_ansor(record).hardware == AnsorHardware{2, 64, 64, 0, 0, 0, 0, 0});
  CHECK(record_to_ansor(record).costs[0] == Approx(5e-9));
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
  registry.add_key_function("pool", [&](const std::vector<WorkloadArgument>& all) {
    const bool is_max = all.size() == 4 && all[0].text == "max" && all[0].is_quoted;
    if (!is_max || all[3].text != "true" || all[3].is_quoted) {
      throw Error("another pool");
    }
    return matmul;
  });
  CHECK(te::call_workload_key("pool", {"max", 8, 4, true}) == "[\"pool\", \"max\", 8, 4, true]");
  CHECK(registry.find(te::call_workload_key("pool", {"max", 8, 4, true})));
  CHECK_FALSE(registry.find(te::call_workload_key("pool", {"max", 8, 4, "true"})));
  CHECK_FALSE(registry.find(te::call_workload_key("pool", {"avg", 8, 4, true})));
  registry.add_program(matmul);
  CHECK(registry.find(te::workload_key(*matmul)));
}

// As networks of 2021 name them; the hashes are those of logs that were published then.
TEST_CASE("two placeholders of a network may have one name", "[record]") {
  te::Program p;
  auto a = p.placeholder("A", {14, 768}), b = p.placeholder("B", {3072, 768});
  auto k = p.reduce_axis("k", 768);
  auto c = p.compute("T_matmul_NT", {14, 3072},
                     [&](auto i, auto j) { return te::sum(a(i, k) * b(j, k), {k}); });
  const Shared<const ComputeDag> dense = p.dag({a, b, c});
  const std::string key = network_workload_key(*dense, {"placeholder", "placeholder"});
  CHECK(key == "[\"218090bc617f9a36fbabdf253ec28064\", [14, 768], [3072, 768], [14, 3072]]");
  CHECK(network_workload_key(*dense, {}) == te::workload_key(*dense));
  te::Program q;
  auto x = q.placeholder("X", {12, 14, 64}), y = q.placeholder("Y", {12, 14, 64});
  auto l = q.reduce_axis("k", 64);
  auto z = q.compute("T_batch_matmul_NT", {12, 14, 14},
                     [&](auto n, auto i, auto j) { return te::sum(x(n, i, l) * y(n, j, l), {l}); },
                     {{"b", "i", "j"}});
  const std::string batched =
      network_workload_key(*q.dag({x, y, z}), {"placeholder", "placeholder"});
  CHECK(batched ==
        "[\"32a5ff201401d5600f77ced9f22defaa\", [12, 14, 64], [12, 14, 64], [12, 14, 14]]");
  WorkloadRegistry registry;
  registry.add_program(key, dense);
  CHECK(registry.find(key));
  CHECK_FALSE(registry.find(te::workload_key(*dense)));
  CHECK_FALSE(registry.find(batched));
}

}  // namespace tensorsmith::test
