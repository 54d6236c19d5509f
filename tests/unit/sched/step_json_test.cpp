// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/step_json.hpp"

#include "support/catch.hpp"
#include "support/json_steps.hpp"

using namespace tensorsmith;

namespace {

const std::vector<Step>& one_of_each() {
  static const std::vector<Step> steps{
      AnnotationStep{1, 2, Annotation::parallel},
      FuseStep{2, {0, 1, 2}},
      PragmaStep{2, 0, "auto_unroll_max_step$64"},
      ReorderStep{3, {1, 0}},
      SplitStep{2, 4, 512, {8, 2, 4}, true},
      FollowSplitStep{3, 0, 1, 2},
      FollowFusedSplitStep{3, 0, {2, 1}, 1, true},
      StorageAlignStep{1, 0, 32, 4},
      ComputeAtStep{2, 3, 3},
      ComputeInlineStep{4},
      ComputeRootStep{4},
      CacheReadStep{1, "shared", {2}},
      CacheWriteStep{2, "local"},
      RfactorStep{2, 3, 2},
      StorageLayoutStep{1, {12, 0}, {0, 2, 1}, 4},
      ExpandReductionStep{2},
      FactorSumStep{2, {0, 2, 1}, {3}},
  };
  return steps;
}

}  // namespace

TEST_CASE("steps print as records") {
  const std::vector<std::string> expected{
      R"(["AN", 1, 2, 3])",
      R"(["FU", 2, [0, 1, 2]])",
      R"(["PR", 2, 0, "auto_unroll_max_step$64"])",
      R"(["RE", 3, [1, 0]])",
      R"(["SP", 2, 4, 512, [8, 2, 4], 1])",
      R"(["FSP", 3, 0, 1, 2])",
      R"(["FFSP", 3, 0, [2, 1], 1, 1])",
      R"(["SA", 1, 0, 32, 4])",
      R"(["CA", 2, 3, 3])",
      R"(["CI", 4])",
      R"(["CR", 4])",
      R"(["CHR", 1, "shared", [2]])",
      R"(["CHW", 2, "local"])",
      R"(["RF", 2, 3, 2])",
      R"(["TSL", 1, [12, 0], [0, 2, 1], 4])",
      R"(["TER", 2])",
      R"(["TFS", 2, [0, 2, 1], [3]])",
  };
  REQUIRE(one_of_each().size() == std::variant_size_v<Step>);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(one_of_each()[i].index() == i);
    std::string text;
    append_step_json(text, one_of_each()[i]);
    CHECK(text == expected[i]);
  }
}

TEST_CASE("steps come back from their records") {
  const std::string text = steps_json(one_of_each());
  CHECK(test::steps_from_json(nlohmann::json::parse(text)) == one_of_each());
}

TEST_CASE("an unknown length is null, text is escaped") {
  std::string text;
  append_step_json(text, SplitStep{0, 1, 0, {unknown_length, 4}, false});
  CHECK(text == R"(["SP", 0, 1, 0, [null, 4], 0])");
  text.clear();
  append_step_json(text, PragmaStep{0, 0, "a\"b\\c\n\t\r"});
  CHECK(text == R"(["PR", 0, 0, "a\"b\\c\n\t\r"])");
}

TEST_CASE("a tag finds its step type") {
  for (const Step& step : one_of_each()) {
    bool same = false;
    CHECK(visit_step_type(tag_of(step), [&](auto type) {
      same = std::holds_alternative<typename decltype(type)::type>(step);
    }));
    CHECK(same);
  }
  CHECK(!visit_step_type("XX", [](auto) {}));
}
