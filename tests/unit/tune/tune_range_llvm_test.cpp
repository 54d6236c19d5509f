// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/range.hpp"
#include "unit/tune/tasks_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// A workload with @ where the number of rows stands.
TaskOfRows rows_of(const char* text, const Target& target = host_target()) {
  return [text = std::string(text), target](std::int64_t rows) {
    std::string with = text;
    with.replace(with.find('@'), 1, std::to_string(rows));
    return named_task(with, target);
  };
}

RangeOptions few_trials(std::size_t most_members) {
  RangeOptions options;
  options.tune.budget = {0, static_cast<std::int64_t>(2 * most_members)};
  options.tune.policy_params = {{"evolutionary_search_population", "16"},
                                {"evolutionary_search_num_iters", "1"},
                                {"sample_init_min_population", "8"}};
  options.tune.polish = options.tune.prior = 0;
  options.most_members = most_members;
  return options;
}

KernelOperand operand_of(HostArray& array) {
  KernelOperand operand;
  operand.data = array.data.data();
  operand.num_elements = array.num_elements();
  operand.element_bytes = bytes_of(array.dtype);
  operand.dtype = array.dtype;
  return operand;
}

std::string refusal(const TaskOfRows& task, std::int64_t first, std::int64_t last,
                    RangeOptions options = few_trials(4)) {
  try {
    (void)tune_range(task, first, last, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a family computes every number of rows of its range") {
  struct Case {
    const char* text;
    std::int64_t first, last;
  };
  for (const Case& each : {Case{"gemm:@x9x7:f32,bias,relu", 1, 11}, Case{"argmax:@x6:i32", 5, 9},
                           Case{"gemm:@x8x12:i8,weights=i8", 3, 3}}) {
    INFO(each.text);
    TasksJournal journal;
    RangeOptions options = few_trials(6);
    options.tune.database = journal.path;
    std::size_t num_told = 0;
    options.on_member = [&](const RangeProgress& progress) {
      ++num_told;
      CHECK(progress.best_ns > 0);
      CHECK(progress.num_members <= 6);
    };
    const RangeResult tuned = tune_range(rows_of(each.text), each.first, each.last, options);
    REQUIRE(tuned.has_all());
    CHECK(num_told >= tuned.num_tuned);
    CHECK(tuned.num_tuned >= tuned.members.size());
    CHECK(tuned.trials >= static_cast<std::int64_t>(tuned.num_tuned));
    CHECK(tuned.plan.sizes.size() == tuned.members.size());
    const auto records = read_journal(journal.path);
    REQUIRE(records.has_value());
    const RangeResult recorded =
        recorded_range(rows_of(each.text), each.first, each.last, *records);
    REQUIRE(recorded.has_all());
    for (const RangeResult* family : {&tuned, &recorded}) {
      const RangeKernel kernel = family->kernel();
      for (std::int64_t rows = each.first; rows <= each.last; ++rows) {
        INFO(rows << " rows");
        const Shared<const ComputeDag> dag = rows_of(each.text)(rows).dag;
        std::vector<HostArray> arrays = whole_number_inputs(*dag);
        const auto expected = eval_dag(*dag, arrays);
        REQUIRE(expected.has_value());
        const std::size_t num_inputs = arrays.size();
        for (const HostArray& result : *expected) {
          arrays.push_back(result);
          std::fill(arrays.back().data.begin(), arrays.back().data.end(), std::byte{0x55});
        }
        std::vector<KernelOperand> operands;
        for (HostArray& array : arrays) {
          operands.push_back(operand_of(array));
        }
        kernel.call(rows, operands);
        for (std::size_t k = 0; k < expected->size(); ++k) {
          CHECK(arrays[num_inputs + k] == (*expected)[k]);
        }
      }
    }
  }
}

TEST_CASE("calls of a family are checked") {
  const RangeResult tuned = tune_range(rows_of("gemm:@x8x4:f32"), 2, 4, few_trials(3));
  REQUIRE(tuned.has_all());
  const RangeKernel kernel = tuned.kernel();
  std::vector<float> a(12), b(32), c(24);
  kernel(3, a, b, c);
  CHECK_THROWS_AS(kernel(1, a, b, c), Error);
  CHECK_THROWS_AS(kernel(5, a, b, c), Error);
  CHECK_THROWS_AS(kernel(4, a, b, c), Error);  // 16 and 32 elements
  CHECK_THROWS_AS(kernel(3, a, b), Error);
  CHECK_THROWS_AS(RangeResult{}.kernel(), Error);
  CHECK_THROWS_AS(RangeResult{}.source(), Error);
  CHECK_THROWS_AS(tuned.source("not a name"), Error);
  const KernelSource source = tuned.source("product");
  CHECK(source.header.find("int product(std::int64_t rows, const float* a0, const float* a1, "
                           "float* a2)") != std::string::npos);
}

TEST_CASE("a family on a simulated board has a plan and no kernel") {
  const Target board = *Target::from_name("sim:a100");
  const RangeResult tuned = tune_range(rows_of("gemm:@x32x32:f32", board), 1, 4, few_trials(4));
  REQUIRE(tuned.has_all());
  CHECK(tuned.plan.ns[3] > 0);
  CHECK_THROWS_AS(tuned.kernel(), Error);
  CHECK_THROWS_AS(tuned.source(), Error);
}

TEST_CASE("what has no range of rows is refused in a sentence") {
  CHECK(refusal(rows_of("gemm:@x8x8:f32"), 0, 3).find("expected 1 <= first <= last") !=
        std::string::npos);
  CHECK(refusal(rows_of("gemm:@x8x8:f32"), 4, 3).find("got 4..3") != std::string::npos);
  CHECK(refusal(nullptr, 1, 3).find("expected a function") != std::string::npos);
  CHECK(refusal(rows_of("reduce_sum:4x@"), 1, 3).find("reduces over the rows") !=
        std::string::npos);
  CHECK(refusal(rows_of("gemm:@x8x8:f32,packed"), 1, 3).find("without free layouts") !=
        std::string::npos);
  RangeOptions options = few_trials(4);
  options.tune.resumes = true;
  CHECK(refusal(rows_of("gemm:@x8x8:f32"), 1, 3, options).find("is not resumed") !=
        std::string::npos);
  options = few_trials(0);
  CHECK(refusal(rows_of("gemm:@x8x8:f32"), 1, 3, options).find("most_members") !=
        std::string::npos);
}

TEST_CASE("records that do not make up every number of rows are no family") {
  CHECK_FALSE(recorded_range(rows_of("gemm:@x8x8:f32"), 1, 3, {}).has_all());
}
