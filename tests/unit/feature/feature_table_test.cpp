// SPDX-License-Identifier: Apache-2.0
// Blocks of features by name, the plan of a search, and what a view remembers.
#include "tensorsmith/feature/feature_table.hpp"

#include "support/catch.hpp"
#include "tensorsmith/feature/ansor_block.hpp"
#include "tensorsmith/feature/lowered_part.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/sched/bounds.hpp"

using namespace tensorsmith;

namespace {

State gemm_state() {
  ops::GemmParams params;
  params.m = params.n = params.k = 16;
  State state = State::initial(ops::gemm(params).dag);
  REQUIRE_FALSE(try_infer_bounds(state));
  return state;
}

FeatureContext context_of(const Target& target = Target::x86_64_v3()) { return {target, 1, {}}; }

int num_counted = 0;
/// A part that counts how often it is made.
std::size_t counted_steps(const ProgramView& view, const FeatureContext&) {
  ++num_counted;
  return view.steps().size() + 1;
}

FeatureExtractor steps_block(const std::string& name, float factor = 1) {
  return {make_shared_of<const BlockSchema>(name, std::vector<std::string>{"steps"}, 1U),
          [factor](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            const auto steps = static_cast<float>(view.part<counted_steps>(context));
            block.add_row()[0] = factor * steps;
            return steps > 0;
          }};
}

std::string problem_of(const FeatureTable& table, std::vector<std::string_view> wanted,
                       FeatureContext context = context_of()) {
  const auto plan = FeaturePlan::make(table, wanted, std::move(context));
  return plan ? "" : plan.error();
}

}  // namespace

TEST_CASE("a view remembers each of its parts until it is told to forget", "[feature]") {
  const State state = gemm_state();
  const FeatureContext context = context_of();
  const ProgramView view = state;
  num_counted = 0;
  const std::size_t& steps = view.part<counted_steps>(context);
  CHECK(steps == 1);
  const auto& stores = view.part<store_program_of>(context);
  REQUIRE(stores);
  CHECK(stores->stores.size() == 2);
  CHECK(view.part<lowered_program_of>(context).has_value());
  CHECK(&view.part<counted_steps>(context) == &steps);
  CHECK(&view.part<store_program_of>(context) == &stores);
  CHECK(num_counted == 1);
  view.forget();
  CHECK(view.part<counted_steps>(context) == 1);
  CHECK(num_counted == 2);
  const State& same = view;
  CHECK(&same == &state);
}

TEST_CASE("a table has one row of a name and says which there are", "[feature]") {
  FeatureTable table;
  CHECK(table.add(ansor_block()));
  CHECK(table.add(steps_block("mine")));
  CHECK_FALSE(table.add(steps_block("ansor164")));
  CHECK(table.names() == "ansor164, mine");
  CHECK(table.find("mine")->schema->tags()[0] == "steps");
  CHECK(table.find("other") == nullptr);
}

TEST_CASE("a plan fills the wanted blocks in their order, each part once", "[feature]") {
  FeatureTable table;
  for (const FeatureExtractor& row : {ansor_block(), steps_block("one"), steps_block("two", 2)}) {
    REQUIRE(table.add(row));
  }
  const std::vector<std::string_view> wanted{"two", "ansor164", "one"};
  const auto plan = FeaturePlan::make(table, wanted, context_of());
  REQUIRE(plan);
  num_counted = 0;
  const State state = gemm_state();
  const Features features = plan->extract(state);
  CHECK(num_counted == 1);
  REQUIRE(features.blocks().size() == 3);
  CHECK(features.blocks()[0].schema->name() == "two");
  CHECK(features.block("two").values == std::vector<float>{2});
  CHECK(features.block("one").values == std::vector<float>{1});
  CHECK(features.block("ansor164").values == extract_features(state).values);
  CHECK(plan->schema().size() == 3);
  CHECK(plan->schema()[1] == ansor_schema());
}

TEST_CASE("what the extractors of a plan are asked for is what the model wants", "[feature]") {
  FeatureTable table;
  REQUIRE(table.add(ansor_block()));
  REQUIRE(table.add(steps_block("mine")));
  num_counted = 0;
  const std::vector<std::string_view> wanted{"ansor164"};
  (void)FeaturePlan::make(table, wanted, context_of())->extract(gemm_state());
  CHECK(num_counted == 0);
}

TEST_CASE("blocks of one program may have unlike shapes: any rows, and always eight", "[feature]") {
  std::vector<std::string> tags;
  for (int c = 0; c < 23; ++c) {
    tags.push_back("c" + std::to_string(c));
  }
  const FeatureExtractor flow{make_shared_of<const BlockSchema>("flow", tags, 8U),
                              [](const ProgramView&, const FeatureContext&, FeatureBlock& block) {
                                for (std::uint32_t r = 0; r < 8; ++r) {
                                  block.add_row()[22] = static_cast<float>(r);
                                }
                                return true;
                              }};
  FeatureTable table;
  REQUIRE(table.add(ansor_block()));
  REQUIRE(table.add(flow));
  const std::vector<std::string_view> wanted{"ansor164", "flow"};
  const State state = gemm_state();
  const Features features = FeaturePlan::make(table, wanted, context_of())->extract(state);
  REQUIRE(features.blocks().size() == 2);
  CHECK(features.block("ansor164").num_columns() == 164);
  CHECK(features.block("flow").num_columns() == 23);
  CHECK(features.block("flow").row(7)[22] == 7);
  CHECK(features.block("flow").is_well_formed());
}

TEST_CASE("a program that one extractor cannot build has no features", "[feature]") {
  FeatureTable table;
  FeatureExtractor never = steps_block("never");
  never.extract = [](const ProgramView&, const FeatureContext&, FeatureBlock&) { return false; };
  REQUIRE(table.add(steps_block("one")));
  REQUIRE(table.add(never));
  const std::vector<std::string_view> wanted{"one", "never"};
  CHECK(FeaturePlan::make(table, wanted, context_of())->extract(gemm_state()).empty());
}

TEST_CASE("an extractor that fills other rows than its schema says is asserted", "[feature]") {
  FeatureTable table;
  FeatureExtractor wrong = steps_block("wrong");
  wrong.extract = [](const ProgramView&, const FeatureContext&, FeatureBlock& block) {
    block.add_row();
    block.add_row();  // the schema has one
    return true;
  };
  REQUIRE(table.add(wrong));
  const std::vector<std::string_view> wanted{"wrong"};
  const State state = gemm_state();
  const auto plan = FeaturePlan::make(table, wanted, context_of());
  CHECK_THROWS_AS(plan->extract(state), test::AssertionFailed);
}

TEST_CASE("a plan that cannot be is refused in one sentence", "[feature]") {
  FeatureTable table;
  FeatureExtractor cpu_only = steps_block("cpu_only");
  cpu_only.problem = [](const FeatureContext& context) -> std::string {
    return context.target.kind == TargetKind::cpu ? "" : "it is about CPUs";
  };
  REQUIRE(table.add(cpu_only));
  CHECK(problem_of(table, {"cpu_only"}) == "");
  CHECK(problem_of(table, {"cpu_only", "psa"}) ==
        "unknown block of features \"psa\"; known: cpu_only");
  CHECK(problem_of(table, {"cpu_only", "cpu_only"}) ==
        "the block of features \"cpu_only\" is wanted twice");
  CHECK(problem_of(table, {}) == "no block of features is wanted; known: cpu_only");
  FeatureContext gpu = context_of();
  gpu.target.kind = TargetKind::cuda;
  CHECK(problem_of(table, {"cpu_only"}, gpu) ==
        "no block of features \"cpu_only\": it is about CPUs");
}
