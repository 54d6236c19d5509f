// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/ansor_history.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace tensorsmith::test {
namespace {

AnsorRecord record_of(const std::string& key, const std::string& target, double cost,
                      std::int64_t error = 0) {
  AnsorRecord record;
  record.workload_key = key;
  record.target = target;
  record.costs = {cost};
  record.error = error;
  record.steps = {SplitStep{0, 0, 64, {static_cast<std::int64_t>(cost * 1000)}, true}};
  return record;
}
double distance(const std::string& wanted, const std::string& recorded) {
  return workload_distance(decode_workload_key(wanted), decode_workload_key(recorded));
}

const std::string big = R"(["f", [8, 3, 224, 224], [32, 3, 3, 3], [0, 0], [1, 1], "float32"])";

}  // namespace

TEST_CASE("keys are a name and a flat list", "[record]") {
  const DecodedKey key = decode_workload_key(R"(["matmul", [1, [2]], "float32", 1.5])");
  CHECK(key.name == "matmul");
  REQUIRE(key.args.size() == 4);
  CHECK(key.args[1].value == 2);
  CHECK(key.args[2].text == "float32");
  CHECK_FALSE(key.args[3].is_integer);
  const DecodedKey flags = decode_workload_key(R"(["f", true, "true", null])");
  REQUIRE(flags.args.size() == 3);
  CHECK_FALSE(flags.args[0] == flags.args[1]);
  CHECK(std::isinf(distance(R"(["f", true])", R"(["f", "true"])")));
  CHECK(decode_workload_key("no list").name == "no list");
  CHECK(decode_workload_key("[]").name == "[]");
  CHECK(decode_workload_key("[\"f\", 1").name == "[\"f\", 1");
  CHECK(decode_workload_key(std::string(100000, '[')).args.empty());
}

TEST_CASE("conformance 11.6: distances of workloads", "[record]") {
  CHECK(distance(big, R"(["f", [1, 3, 112, 112], [32, 3, 3, 3], [0, 0], [1, 1], "float32"])") ==
        32);
  CHECK(distance(big, big) == 1);
  for (const char* other :
       {R"(["f", [1, 3, 112, 112], [32, 3, 3, 3], [1, 1], [1, 1], "float32"])",
        R"(["f", [1, 3, 112, 112], [32, 3, 3, 3], [0, 0], [1, 1], "float16"])",
        R"(["g", [1, 3, 112, 112], [32, 3, 3, 3], [0, 0], [1, 1], "float32"])",
        R"(["f", [1, 3, 112, 223], [32, 3, 3, 3], [0, 0], [1, 1], "float32"])",
        R"(["f", [16, 3, 224, 224], [32, 3, 3, 3], [0, 0], [1, 1], "float32"])", R"(["f", 8])"}) {
    CHECK(std::isinf(distance(big, other)));
  }
}

TEST_CASE("targets are taken apart", "[record]") {
  const AnsorTarget cuda = parse_ansor_target("cuda -keys=cuda,gpu -arch=sm_80 -model=a100");
  CHECK(cuda.kind == "cuda");
  CHECK(cuda.model == "a100");
  CHECK(cuda.keys == std::vector<std::string>{"cuda", "gpu"});
  CHECK(parse_ansor_target("llvm -mcpu=x").keys == std::vector<std::string>{"cpu"});
  CHECK(parse_ansor_target("opencl -device=mali").keys ==
        std::vector<std::string>{"mali", "opencl", "gpu"});
  CHECK(parse_ansor_target("llvm").model == "unknown");
}

TEST_CASE("the best record of a list", "[record]") {
  const std::vector<AnsorRecord> records = {
      record_of("[\"f\", 8]", "llvm", 3), record_of("[\"f\", 8]", "llvm", 1, 4),
      record_of("[\"f\", 8]", "llvm -mcpu=y", 2), record_of("[\"f\", 8]", "cuda", 1),
      record_of("[\"f\", 2]", "llvm", 0.25)};
  CHECK(best_ansor_record(records, "[\"f\", 8]", "llvm -mcpu=z") == &records[2]);
  CHECK(best_ansor_record(records, "[\"f\", 8]") == &records[3]);
  CHECK(best_ansor_record(records, "[\"f\", 8]", "llvm", true) == &records[4]);  // 0.25 * 4
  CHECK(best_ansor_record(records, "[\"f\", 9]", "llvm", true) == nullptr);
  CHECK(best_ansor_record(records, "[\"f\", 8]", "metal") == nullptr);
}

TEST_CASE("apply history best: model, then keys, chosen before measured", "[record]") {
  const std::vector<AnsorRecord> records = {
      record_of("[\"f\", 8]", "cuda -keys=cuda,gpu -model=a", 5),
      record_of("[\"f\", 8]", "cuda -keys=cuda,gpu -model=b", 1),
      record_of("[\"f\", 4]", "cuda -keys=cuda,gpu", 0.125),
      record_of("[\"f\", 8]", "opencl -keys=opencl,gpu", 0.5)};
  AnsorHistory history(records);
  CHECK(history.find("[\"f\", 8]", "cuda -model=a") == &records[0]);
  CHECK(history.find("[\"f\", 8]", "cuda -model=c") == &records[1]);
  CHECK(history.find("[\"f\",8]", "metal") == &records[3]);  // of the key "gpu"
  CHECK(history.find("[\"f\", 8]", "llvm") == nullptr);
  CHECK(history.find("[\"f\", 12]", "cuda") == nullptr);
  CHECK(history.find("[\"f\", 12]", "cuda", true) == &records[2]);
  // An exact match stands before a compatible one that promises less time.
  CHECK(history.find("[\"f\", 8]", "cuda", true) == &records[1]);
  const AnsorRecord chosen = record_of("[\"f\", 8]", "cuda -keys=cuda,gpu", 9);
  history.choose(chosen);
  CHECK(history.find("[\"f\", 8]", "cuda -model=c") == &chosen);
  CHECK(history.find("[\"f\", 8]", "cuda -model=a") == &records[0]);
}

TEST_CASE("distil, merge, top", "[record]") {
  const std::vector<AnsorRecord> records = {
      record_of("[\"f\", 8]", "llvm", 3), record_of("[\"g\", 8]", "llvm", 5),
      record_of("[\"f\", 8]", "llvm", 1), record_of("[\"f\", 8]", "llvm", 2),
      record_of("[\"f\", 8]", "cuda", 7), record_of("[\"h\", 8]", "llvm", 1e10, 2)};
  const auto costs = [](const std::vector<AnsorRecord>& list) {
    std::vector<double> result;
    for (const AnsorRecord& record : list) {
      result.push_back(record.mean_cost());
    }
    return result;
  };
  CHECK(costs(distil(records)) == std::vector<double>{5, 1, 7});
  CHECK(costs(top_records(records, 2)) == std::vector<double>{1, 2, 5, 7});
  std::vector<AnsorRecord> slower = records, failed = records;
  for (AnsorRecord& record : slower) {
    record.costs[0] *= record.is_ok() ? 2 : 1;
  }
  failed[0].error = 4;
  CHECK(costs(merge_logs({slower, records})) == costs(records));
  CHECK(costs(merge_logs({records, slower})) == costs(records));
  CHECK(merge_logs({failed, slower})[0].mean_cost() == 6);
  CHECK(merge_logs({}).empty());
}

TEST_CASE("records of other targets and numbers of cores are never compared", "[record]") {
  std::vector<AnsorRecord> records = {record_of("[\"f\", 8]", "llvm -keys=cpu -mcpu=a", 3),
                                      record_of("[\"f\", 8]", "llvm -keys=cpu -mcpu=b", 1),
                                      record_of("[\"f\", 8]", "llvm -keys=cpu -mcpu=a", 2)};
  records[0].hardware = AnsorHardware{1, 64, 64, 0, 0, 0, 0, 0};
  records[2].hardware = AnsorHardware{8, 64, 64, 0, 0, 0, 0, 0};
  CHECK(top_positions(records, 1) == std::vector<std::size_t>{0, 1, 2});
  for (AnsorRecord& record : records) {
    record.steps.clear();
  }
  CHECK(merged_positions(records) == std::vector<std::size_t>{0, 1, 2});
  records[2].hardware = records[0].hardware;
  CHECK(merged_positions(records) == std::vector<std::size_t>{2, 1});
  CHECK(top_positions(records, 1) == std::vector<std::size_t>{2, 1});
}

}  // namespace tensorsmith::test
