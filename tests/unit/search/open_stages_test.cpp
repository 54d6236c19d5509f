// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/open_stages.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/seed_model.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

/// The open stages of sketches that a rule for windows places, blocks of columns last.
std::vector<State> window_sketches(const char* text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload.has_value());
  const RuleSet<SkipPlaced, AlwaysInline, WindowRows, SkipStage> rules;
  std::vector<State> found = generate_sketches(workload->dag, rules, SketchOptions{});
  std::erase_if(found,
                [](const State& sketch) { return sketch.attach_map().stage_to_iterator.empty(); });
  return found;
}

std::vector<detail::OpenStage> stages_of(const State& sketch) {
  return detail::open_stages(State::initial(sketch.initial_dag()), sketch, {});
}

std::vector<std::size_t> sizes_of(const std::vector<detail::OpenStage>& stages) {
  std::vector<std::size_t> sizes;
  for (const detail::OpenStage& stage : stages) {
    sizes.push_back(stage.size());
  }
  return sizes;
}

}  // namespace

TEST_CASE("columns that follow another stage's are known, and have no lengths of their own") {
  const std::vector<State> sketches =
      window_sketches("conv2d:h=16,w=12,ci=3,co=64,k=1,layout=free,bias,relu,depthwise=3,dw_p=1");
  REQUIRE(sketches.size() == 2);
  // D: n w c py px; rows of blocks of Drelu; Y: n w co ry rx rc.
  for (const State& sketch : sketches) {
    CHECK(sizes_of(stages_of(sketch)) == std::vector<std::size_t>{5, 1, 6});
  }
  const std::vector<detail::OpenStage> stages = stages_of(sketches[1]);
  CHECK_FALSE(detail::has_blocks_only(stages[0]));
  CHECK(detail::has_blocks_only(stages[1]));
  CHECK_FALSE(stages_of(sketches[0])[2][2].follows);
  CHECK(stages[2][2].follows);
  CHECK(stages[2][2].extent == 64);
  CHECK(stages[2][2].num_lengths == 3);

  const Target target = *Target::from_name("znver4");
  const detail::SeedModel model(target, 64);
  std::vector<Step> steps = sketches[1].steps();
  for (const detail::OpenStage& stage : stages) {
    detail::TileChoice choice;
    choice.vectors = 2;
    choice.rows = 4;
    detail::set_lengths(steps, stage, model.lengths(stage, choice));
  }
  const auto lengths = [&](const detail::OpenSplit& split) {
    return std::get<SplitStep>(steps[split.step]).lengths;
  };
  CHECK(lengths(stages[0][2]) == LengthList{1, 1, 32});  // vectors of D's columns
  CHECK(lengths(stages[2][1]) == LengthList{1, 1, 4});   // rows of Y's tile: pixels
  CHECK(lengths(stages[1][0]) == LengthList{4});
  CHECK(std::holds_alternative<FollowSplitStep>(steps[stages[2][2].step]));
}

TEST_CASE("blocks of rows are apart from the tiles of the same stage") {
  const std::vector<State> sketches =
      window_sketches("conv2d:h=16,w=12,ci=3,co=64,k=1,depthwise=3,dw_p=1");
  REQUIRE(sketches.size() == 2);
  // D: rows; n w c py px. Y: as above.
  CHECK(sizes_of(stages_of(sketches[0])) == std::vector<std::size_t>{1, 5, 6});
}

}  // namespace tensorsmith
