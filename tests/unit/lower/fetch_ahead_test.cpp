// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/fetch_ahead.hpp"

#include "support/catch.hpp"
#include "support/gpu_programs.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "unit/lower/shared_product.hpp"

namespace tensorsmith {
namespace {

/// In tiles of 16 x 16, eight terms at a time.
State product_in_stages(const Shared<const ComputeDag>& dag, std::int32_t stages) {
  return test::shared_product(dag, {8, 2, 8}, "fetch_ahead$" + std::to_string(stages));
}

std::size_t num_barriers(const LoopProgram& program) {
  std::vector<StmtId> found;
  test::find_barriers(program, program.body, found);
  return found.size();
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("copies are fetched ahead into several buffers, with one barrier a turn") {
  const auto workload = ops::parse_workload("gemm:32x48x40:i32");
  REQUIRE(workload.has_value());
  const test::KnownResults known(*workload->dag);
  for (std::int32_t stages = 1; stages <= 5; ++stages) {
    const auto program = lower(product_in_stages(workload->dag, stages), test::gpu_target());
    REQUIRE(program.has_value());
    const std::string text = to_text(*program);
    INFO(text);
    CHECK(known.wrong_with(*program) == "");
    CHECK(num_barriers(*program) == (stages == 1 ? 2 : 1));
    CHECK(occurrences(text, "=async") == (stages == 1 ? 0 : 2));
    CHECK(occurrences(text, "but for the last " + std::to_string(stages - 2)) ==
          (stages > 2 ? 1 : 0));
    CHECK((text.find("A.shared: i32[" + std::to_string(stages) + ", 16, 8]") !=
           std::string::npos) == (stages > 1));
    CHECK((text.find("k.0 in " + std::to_string(5 + stages - 1) + ":") != std::string::npos));
  }
}

TEST_CASE("what there is no room, no reason or no instruction for is not fetched ahead") {
  const auto workload = ops::parse_workload("gemm:32x48x40:i32");
  const auto is_ahead = [](const Result<LoopProgram, LowerError>& program) {
    REQUIRE(program.has_value());
    return to_text(*program).find("=async") != std::string::npos;
  };
  CHECK(is_ahead(lower(product_in_stages(workload->dag, 5), test::gpu_target())));
  CHECK_FALSE(
      is_ahead(lower(product_in_stages(workload->dag, 6), test::gpu_target())));  // of 5 turns
  CHECK_FALSE(is_ahead(lower(product_in_stages(workload->dag, 2), *Target::cuda(75))));
  Target small = test::gpu_target();
  small.gpu->max_shared_memory_optin_bytes = 2048;  // one buffer each: 1024
  CHECK_FALSE(is_ahead(lower(product_in_stages(workload->dag, 3), small)));
}

TEST_CASE("a pragma of no or too many buffers is refused") {
  const auto workload = ops::parse_workload("gemm:32x48x40:i32");
  State state = State::initial(workload->dag);
  for (const char* text : {"fetch_ahead$0", "fetch_ahead$9", "fetch_ahead", "fetch_ahead$x"}) {
    const auto error = try_apply(state, PragmaStep{2, 0, text});
    REQUIRE(error);
    CHECK(error->code == ScheduleErrorCode::pragma_value);
  }
}

}  // namespace tensorsmith
