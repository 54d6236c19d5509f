// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/estimate_model.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace tensorsmith {

TEST_CASE("estimates score in proportion to the speed", "[cost]") {
  const auto features_of = [](float log2_cycles) {
    FeatureBlock block{draft_schema(), 1, std::vector<float>(draft_tags.size(), 0.0F)};
    block.values[0] = log2_cycles;
    return Features(std::vector<FeatureBlock>{std::move(block)});
  };
  const EstimateModel model;
  const std::vector<Features> programs{features_of(10), features_of(11),
                                       features_of(static_cast<float>(math::infinity)), Features()};
  std::vector<float> scores(programs.size());
  model.predict(programs, scores);
  CHECK(scores[0] == test::Approx(2 * scores[1]));
  CHECK(scores[1] > 0);
  CHECK(scores[2] == invalid_score);  // the board cannot hold it
  CHECK(scores[3] == invalid_score);
}

TEST_CASE("drafts are there for targets that they know", "[cost]") {
  const auto problem = [](std::string_view name, const Target& target) {
    const Result<Shared<CostModel>, std::string> made =
        make_cost_model(draft_models(), name, {1, target, false}, "draft");
    return made ? std::string((*made)->name()) : made.error();
  };
  const Target board = *Target::from_name("a100"), cpu = Target::x86_64_v3();
  for (const char* const name : {"psa", "psa-fixed", "estimate"}) {
    CHECK(problem(name, board) == name);
  }
  CHECK(problem("estimate", cpu) == "estimate");
  CHECK(problem("psa-fixed", cpu) == "psa-fixed");
  CHECK(problem("psa", cpu) ==
        "the draft psa is for boards of GPUs; known beside it: psa-fixed, estimate");
  CHECK(problem("luck", board) == "unknown draft \"luck\"; known: psa-fixed, psa, estimate");
}

}  // namespace tensorsmith
