// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/schedule_choices.hpp"

#include "support/catch.hpp"

#include <algorithm>

#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/sched/apply.hpp"

using namespace tensorsmith;

namespace {

State product(const std::vector<Step>& steps) {
  ops::GemmParams p;
  p.m = p.n = p.k = 64;
  State state = State::initial(ops::gemm(p).dag);
  for (const Step& step : steps) {
    REQUIRE_FALSE(try_apply(state, step));
  }
  return state;
}

/// A step that the library does not have.
struct MirrorStep {
  static constexpr std::string_view tag = "MI";
  std::int32_t stage = 0;
};

std::size_t num_apart(const ScheduleChoices& a, const ScheduleChoices& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += a[i] != b[i] ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("choices of a schedule: lengths of splits in their order, kinds of steps, hints") {
  constexpr std::int32_t stage = 2;
  const Step tile = SplitStep{stage, 0, 64, {1, 2, 16}}, other = SplitStep{stage, 0, 64, {1, 4, 8}};
  const Step columns = SplitStep{stage, 4, 64, {4}};
  const ScheduleChoices none = schedule_choices(product({})),
                        one = schedule_choices(product({tile, columns}));
  CHECK(none == ScheduleChoices{});
  CHECK(one[0] == 0);
  CHECK(one[1] == 1);
  CHECK(one[2] == 4);
  CHECK(one[num_choice_levels] == 2);
  CHECK(num_apart(none, one) == 3);
  CHECK(num_apart(one, schedule_choices(product({other, columns}))) == 2);
  const Step parallel = AnnotationStep{stage, 0, Annotation::parallel};
  CHECK(num_apart(one, schedule_choices(product({tile, columns, parallel}))) == 1);
  for (const char* hint : {"auto_unroll_max_step$64", "unroll_reduction$4", "prefetch$1$12$1",
                           "prefetch_block$1$1", "row_block$4", "stream_result"}) {
    INFO(hint);
    CHECK(num_apart(one, schedule_choices(product({tile, columns, PragmaStep{stage, 0, hint}}))) ==
          1);
  }
}

TEST_CASE("choices of a schedule: more splits than there is room for are left out") {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < num_choice_splits; ++i) {
    steps.push_back(SplitStep{2, 0, i == 0 ? 64 : 1, {i == 0 ? 64 : 1}});
  }
  const ScheduleChoices full = schedule_choices(product(steps));
  steps.push_back(SplitStep{2, 0, 1, {1}});
  CHECK(schedule_choices(product(steps)) == full);
}

TEST_CASE("choices of a schedule: columns follow their list of tags, not the steps there are") {
  STATIC_REQUIRE(num_schedule_choices == 47);
  const std::vector<std::string> tags = choice_tags();
  REQUIRE(tags.size() == num_schedule_choices);
  CHECK(tags[0] == "split0.0");
  CHECK(tags[23] == "split7.2");
  CHECK(tags[25] == "place1");
  CHECK(tags[26] == "steps.AN");
  CHECK(tags[40] == "steps.TSL");
  CHECK(tags[46] == "hint.prefetch_lines");
  // The schema as it was when models were first saved with it: a column that moves, goes or
  // changes its name makes another one.
  CHECK(choices_schema()->hash() == 0xfb660f745f21cff5ULL);

  using Steps = std::variant<MirrorStep, SplitStep, ReorderStep>;  // another order, one more
  std::array<float, choice_steps.size()> kinds{};
  detail::count_step(Steps(ReorderStep{2, {0, 1}}), kinds.data());
  detail::count_step(Steps(MirrorStep{}), kinds.data());
  CHECK(kinds[3] == 1);
  CHECK(std::count(kinds.begin(), kinds.end(), 0.0F) == 14);
}
