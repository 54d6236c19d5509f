// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/ansor_log.hpp"

#include "support/catch.hpp"

#include <algorithm>

#include "record_fixtures.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith::test {
namespace {

/// The example of the Ansor reference, ch. 3.3.
const char* const example =
    R"({"i": [["[\"matmul_auto_scheduler_test\", 512, 512, 512]", "llvm -keys=cpu -link-params=0", )"
    R"([16, 64, 64, 0, 0, 0, 0, 0], "", 0, []], [[], [["CHW", 2, "local"], )"
    R"(["SP", 2, 0, 512, [2, 128, 2], 1], ["SP", 2, 4, 512, [8, 2, 4], 1], )"
    R"(["SP", 2, 8, 512, [64], 1], ["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], )"
    R"(["FSP", 3, 0, 1, 2], ["FSP", 3, 3, 2, 2], ["RE", 3, [0, 3, 1, 4, 2, 5]], ["CA", 2, 3, 3], )"
    R"(["FU", 3, [0, 1, 2, 3]], ["AN", 3, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$64"], )"
    R"(["AN", 2, 9, 2], ["AN", 3, 2, 2]]]], "r": [[0.00123457], 0, 1.5, 1600000000], "v": "v0.6"})";

std::string problem_of(const std::string& line) {
  const auto record = ansor_record_from_line(line);
  return record ? "" : record.error().message;
}
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the reference's example reads and is written byte for byte", "[record]") {
  const auto record = ansor_record_from_line(example);
  REQUIRE(record.has_value());
  CHECK(record->workload_key == "[\"matmul_auto_scheduler_test\", 512, 512, 512]");
  CHECK(record->target == "llvm -keys=cpu -link-params=0");
  CHECK((*record->hardware)[0] == 16);
  CHECK(record->steps.size() == 14);
  CHECK(record->mean_cost() == Approx(0.00123457));
  CHECK(record->timestamp == 1600000000);
  CHECK(*ansor_record_to_line(*record) == example);
}

TEST_CASE("the fourteen steps, escapes and numbers survive", "[record]") {
  AnsorRecord record;
  record.workload_key = "[\"f\\\\\", 1]";
  record.target = "llvm\ttab \"quoted\"\r\n";
  record.hardware = AnsorHardware{-1, 16, 64, 49152, 2147483647, 1024, 8, 32};
  record.target_host = "llvm";
  record.layout_rewrite = 2;
  record.input_names = {"a", "b"};
  record.steps = {AnnotationStep{1, 2, Annotation::thread_x},
                  FuseStep{1, {}},
                  PragmaStep{1, 0, "auto_unroll_max_step$16"},
                  ReorderStep{1, {1, 0}},
                  SplitStep{1, 0, 0, {4, 2}, false},
                  FollowSplitStep{1, 2, 3, 4},
                  FollowFusedSplitStep{1, 2, {3, 4}, 1, true},
                  StorageAlignStep{1, 2, 3, 4},
                  ComputeAtStep{1, 2, 3},
                  ComputeInlineStep{1},
                  ComputeRootStep{1},
                  CacheReadStep{1, "shared", {2, 3}},
                  CacheWriteStep{1, "local"},
                  RfactorStep{1, 2, 3}};
  record.costs = {0.00123456789, 1e10, 1e-5};
  record.error = 2;
  record.all_cost = 1.5;
  record.timestamp = 1700000000;
  const std::string line = *ansor_record_to_line(record);
  CHECK(line.find("[0.00123457, 1e+10, 1e-05], 2, 1.5, 1700000000]") != std::string::npos);
  const auto again = ansor_record_from_line(line);
  REQUIRE(again.has_value());
  CHECK(again->steps == record.steps);
  CHECK(again->target == record.target);
  CHECK(*ansor_record_to_line(*again) == line);
}

TEST_CASE("conformance 11.6: states with each of the fourteen steps are the same after a record",
          "[record]") {
  te::Program p;
  const auto a = p.placeholder("A", {64, 64}), b = p.placeholder("B", {64, 64});
  const auto k = p.reduce_axis("k", 64);
  const auto c =
      p.compute("C", {64, 64}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  const auto d = p.compute("D", {64, 64}, [&](auto i, auto j) { return c(i, j) + 1; });
  const auto e = p.compute("E", {64, 64}, [&](auto i, auto j) { return te::max(d(i, j), 0.0); });
  const auto dag = p.dag({a, b, e});
  const std::vector<std::vector<Step>> histories = {
      {ComputeInlineStep{3}, SplitStep{2, 0, 64, {4, 2}, true}, SplitStep{2, 3, 64, {8, 4}, true},
       FollowSplitStep{4, 0, 1, 2}, FollowSplitStep{4, 3, 2, 2}, ReorderStep{4, {0, 3, 1, 4, 2, 5}},
       ComputeAtStep{2, 4, 1}, FuseStep{4, {0, 1}}, AnnotationStep{4, 0, Annotation::parallel},
       PragmaStep{2, 0, "auto_unroll_max_step$16"}},
      {CacheWriteStep{2, "local"}, SplitStep{2, 0, 64, {8}, true}, ComputeAtStep{2, 3, 0},
       CacheReadStep{1, "shared", {2}}, ComputeAtStep{2, 3, 1}, ComputeRootStep{2}},
      {SplitStep{2, 2, 64, {16}, true}, RfactorStep{2, 2, 2}, StorageAlignStep{2, 1, 8, 4}},
      {SplitStep{2, 0, 64, {4, 2}, true}, FollowFusedSplitStep{4, 0, {0}, 1, true}}};
  std::vector<std::string> tags;
  for (const std::vector<Step>& steps : histories) {
    const auto state = replay(dag, steps);
    REQUIRE(state.has_value());
    AnsorRecord record;
    record.workload_key = te::workload_key(*dag);
    record.steps = steps;
    const auto again = ansor_record_from_line(*ansor_record_to_line(record));
    REQUIRE(again.has_value());
    const auto back = replay(dag, again->steps);
    REQUIRE(back.has_value());
    const auto before = infer_bounds(*state), after = infer_bounds(*back);
    REQUIRE(before.has_value());
    REQUIRE(after.has_value());
    CHECK(state_text(*before) == state_text(*after));
    for (const Step& step : steps) {
      const std::string tag(tag_of(step));
      if (std::find(tags.begin(), tags.end(), tag) == tags.end()) {
        tags.push_back(tag);
      }
    }
  }
  CHECK(tags.size() == 14);
}

TEST_CASE("conformance 11.6: tasks of older formats", "[record]") {
  const std::string whole = R"([16, 64, 64, 0, 0, 0, 0, 0], "", 0, []])";
  const auto read = [&](const std::string& task) {
    return ansor_record_from_line(with(example, ", " + whole, task));
  };
  SECTION("v0.1: key and target") {
    const auto record = read("]");
    REQUIRE(record.has_value());
    CHECK_FALSE(record->hardware.has_value());
    CHECK(*ansor_record_from_line(*ansor_record_to_line(*record)) == *record);
  }
  SECTION("v0.2: hardware as well") {
    const auto record = read(", [16, 64, 64, 0, 0, 0, 0, 0]]");
    REQUIRE(record.has_value());
    CHECK((*record->hardware)[2] == 64);
    CHECK(ansor_record_to_line(*record)->find(whole) != std::string::npos);
  }
  SECTION("v0.5: host and layout option, no input names") {
    const auto record = read(R"(, [16, 64, 64, 0, 0, 0, 0, 0], "llvm -keys=cpu", 1])");
    REQUIRE(record.has_value());
    CHECK(record->target_host == "llvm -keys=cpu");
    CHECK(record->layout_rewrite == 1);
  }
  SECTION("a host without the option is damage") {
    CHECK_FALSE(read(R"(, [16, 64, 64, 0, 0, 0, 0, 0], "llvm"])").has_value());
  }
}

TEST_CASE("spaces do not matter, the version is not looked at", "[record]") {
  std::string line = with(example, "v0.6", "v0.3");
  line = with(line, "[\"CA\", 2, 3, 3]", "[ \"CA\",2 ,3,\t3 ]");
  const auto record = ansor_record_from_line(line);
  REQUIRE(record.has_value());
  CHECK(*ansor_record_to_line(*record) == example);
}

TEST_CASE("what is wrong with a line is said", "[record][error]") {
  CHECK(problem_of("") != "");
  CHECK(problem_of("{}") == "no input");
  CHECK(problem_of(with(example, "\"CHW\"", "\"XYZ\"")) == "unknown step \"XYZ\"");
  CHECK(problem_of(with(example, "auto_unroll_max_step$", "stream_k$")) ==
        "unknown pragma \"stream_k$64\"");
  CHECK(problem_of(with(example, "[\"CHW\", 2, \"local\"]", "[\"TSL\", 2, [4], [0], 0]")) ==
        "unknown step \"TSL\"");
  CHECK(problem_of(with(example, "[\"CA\", 2, 3, 3]", "[\"CA\", 2, 3]")) ==
        "expected ',' in a step");
  CHECK(problem_of(with(example, "[\"CA\", 2, 3, 3]", "[\"CA\", 2, 3, 3, 4]")) ==
        "expected ']' behind a step");
  CHECK(problem_of(with(example, "[\"CA\", 2, 3, 3]", "[\"CA\", 2, 3, 99999999999]")) ==
        "expected an integer in a step");
  CHECK(problem_of(with(example, "[\"CA\", 2, 3, 3]", "[\"CA\", 2, 3, 1.5]")) ==
        "expected an integer in a step");
  CHECK(problem_of(with(example, "[\"AN\", 3, 0, 3]", "[\"AN\", 3, 0, 12]")) ==
        "unknown annotation in a step");
  CHECK(problem_of(with(example, "0.00123457", "nan")) == "expected a number in the costs");
  CHECK(problem_of(with(example, "\"r\"", "\"q\"")) == "no result");
  CHECK(problem_of(std::string(example) + " x") == "text behind the record");
  CHECK(problem_of(with(example, "16, 64, 64, 0, 0, 0, 0, 0", "16, 64")) ==
        "fewer than eight numbers in the hardware");
  for (std::size_t length = 0; length < std::string(example).size(); ++length) {
    CHECK_FALSE(ansor_record_from_line(std::string(example).substr(0, length)).has_value());
  }
}

TEST_CASE("a step of our own is not written into such a log", "[record][error]") {
  AnsorRecord record = *ansor_record_from_line(example);
  record.steps.emplace_back(StorageLayoutStep{2, {4, 0}, {0, 2, 1}, 0});
  const auto line = ansor_record_to_line(record);
  REQUIRE_FALSE(line.has_value());
  CHECK(line.error().message == "step 14 \"TSL\" is not in this format");
  for (const char* own : {"stream_result", "prefetch$1$8$1", "prefetch_block$1$1",
                          "unroll_reduction$2", "row_block$4", "vectorize_sum", "fetch_ahead$2",
                          "load_ahead$2", "stream_k$8", "tensorize$x"}) {
    record.steps.back() = PragmaStep{2, 0, own};
    const auto hinted = ansor_record_to_line(record);
    REQUIRE_FALSE(hinted.has_value());
    CHECK(hinted.error().message ==
          "step 14 \"PR " + std::string(own) + "\" is not in this format");
  }
  record.steps.back() = PragmaStep{2, 0, "auto_unroll_max_step$64"};
  CHECK(ansor_record_to_line(record).has_value());
}

TEST_CASE("a length that is still open is neither written nor read", "[record][error]") {
  AnsorRecord record = *ansor_record_from_line(example);
  std::get<SplitStep>(record.steps[1]).lengths[0] = unknown_length;
  const auto line = ansor_record_to_line(record);
  REQUIRE_FALSE(line.has_value());
  CHECK(line.error().message == "step 1 has a length that is still open");
  for (const char* open : {"-1", "null"}) {
    const std::string text = with(example, "[2, 128, 2]", "[2, " + std::string(open) + ", 2]");
    CHECK_FALSE(ansor_record_from_line(text).has_value());
  }
  CHECK(problem_of(with(example, "[2, 128, 2]", "[2, -1, 2]")) == "expected a length in a step");
}

TEST_CASE("bad lines of a file are reported with their number", "[record]") {
  const TemporaryFile file;
  const std::string good = std::string(example) + "\n";
  file.write("# a comment\n" + good + "nonsense\n\n" + good + "  also a comment\n" +
             good.substr(0, 100));
  const auto log = read_ansor_log(file.path);
  REQUIRE(log.has_value());
  CHECK(log->records.size() == 2);
  REQUIRE(log->skipped.size() == 2);
  CHECK(log->skipped[0].number == 3);
  CHECK(log->skipped[1].number == 7);
  file.write("nonsense\n");
  CHECK_FALSE(read_ansor_log(file.path).has_value());
  CHECK_FALSE(read_ansor_log(file.path + ".none").has_value());
  file.write("");
  CHECK(read_ansor_log(file.path)->records.empty());
}

}  // namespace tensorsmith::test
