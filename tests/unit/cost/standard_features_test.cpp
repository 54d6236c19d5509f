// SPDX-License-Identifier: Apache-2.0
// The blocks of the library say what the functions behind them say, once per candidate.
#include "tensorsmith/cost/standard_features.hpp"

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

using namespace tensorsmith;

TEST_CASE("the standard blocks: names, rows, and schemas that never change by themselves",
          "[cost]") {
  const FeatureTable table = standard_features();
  CHECK(table.names() ==
        "ansor164, draft, choices, psa, psa_kernels, pam_statements, pam_dataflow, "
        "workload_embedding, felix154");
  CHECK(draft_schema()->num_columns() == 9);
  CHECK(draft_schema()->num_rows() == 1);
  CHECK(draft_schema()->hash() == 0x181950a768911eecULL);
  CHECK(choices_schema()->num_rows() == 1);
}

TEST_CASE("the standard blocks hold what extraction, draft and choices say of random programs",
          "[cost]") {
  const SearchSpace space = test::space_of(test::matmul_dag(24, 32, 40));
  const Target target = Target::x86_64_v3();
  const FeatureContext context{target, 2, FeatureOptions{.leaves_out_prepared = true}};
  const std::vector<std::string_view> wanted{"ansor164", "draft", "choices"};
  const auto plan = FeaturePlan::make(standard_features(), wanted, context);
  REQUIRE(plan);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Candidate candidate = test::sample_of(space, i + 100 * test::seed());
    const State& state = candidate.state;
    const ProgramView view = state;
    const Features features = plan->extract(view);
    REQUIRE(features.blocks().size() == 3);
    CHECK(features.block("ansor164").values ==
          extract_features(state, plan->context().rows).values);
    const DraftParts parts = draft_parts(state, target, 2);
    const DraftColumns columns = draft_columns(parts);
    CHECK(std::equal(columns.begin(), columns.end(), features.block("draft").values.begin()));
    CHECK(columns[0] == static_cast<float>(math::log2(parts.total)));
    CHECK(view.part<draft_parts_of>(plan->context()).total == draft_cycles(state, target, 2));
    const ScheduleChoices choices = schedule_choices(state);
    CHECK(std::equal(choices.begin(), choices.end(), features.block("choices").values.begin()));
  }
}

TEST_CASE("there is no draft for a GPU that is no board, and it is said", "[cost]") {
  FeatureContext context;
  context.target.kind = TargetKind::cuda;
  const std::vector<std::string_view> wanted{"draft"};
  const auto plan = FeaturePlan::make(standard_features(), wanted, context);
  REQUIRE_FALSE(plan);
  CHECK(plan.error() == "no block of features \"draft\": there is an analytic estimate for CPUs "
                        "and boards of GPUs only");
}
