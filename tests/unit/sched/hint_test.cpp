// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/hint_list.hpp"

#include <set>
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "unit/sched/sched_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct Form {
  Hint hint;
  const char* text;        ///< as records have it
  const char* state_text;  ///< behind the name of the stage; "": no line
};

/// Every kind of the library, with every form that its text has.
const std::vector<Form>& forms() {
  static const std::vector<Form> all{
      {hints::AutoUnroll{64}, "auto_unroll_max_step$64", "auto_unroll: 64"},
      {hints::AutoUnroll{0}, "auto_unroll_max_step$0", ""},
      {hints::SkipRegion{}, "debug_skip_region", ""},
      {hints::FetchAhead{3}, "fetch_ahead$3", "fetch_ahead: 3"},
      {hints::UnrollReduction{4}, "unroll_reduction$4", "unroll_reduction: 4"},
      {hints::RowBlock{8}, "row_block$8", "row_block: 8"},
      {hints::LoadAhead{2}, "load_ahead$2", "load_ahead: 2"},
      {hints::StreamK{108}, "stream_k$108", "stream_k: 108"},
      {hints::Prefetch{1, 12, 2}, "prefetch$1$12$2", "prefetch: operand 1, 12 lines, into L2"},
      {hints::Prefetch{1, 0, 2}, "prefetch$1$0$2", ""},
      {hints::PrefetchBlock{1, 3}, "prefetch_block$1$3",
       "prefetch: operand 1, the next block, into L3"},
      {hints::StreamResult{}, "stream_result", "streams its result"},
      {hints::VectorizeSum{}, "vectorize_sum", "vectorizes its sum"},
      {hints::Tensorize{"vdpbf16ps"}, "tensorize$vdpbf16ps", "intrinsic: vdpbf16ps"}};
  return all;
}

}  // namespace

TEST_CASE("a hint and its text are the same, and steps stay what records say") {
  std::set<std::string_view> names;
  for (const Form& form : forms()) {
    INFO(form.text);
    CHECK(form.hint.text() == form.text);
    CHECK(Hint(form.text) == form.hint);
    const HintKind* kind = find_hint_kind(form.hint.name());
    REQUIRE(kind != nullptr);
    CHECK(kind->is_legal(form.hint));
    names.insert(kind->name);
    std::string json;
    append_step_json(json, PragmaStep{2, 0, form.hint});
    CHECK(json == R"(["PR", 2, 0, ")" + std::string(form.text) + "\"]");
    State state = State::initial(matmul_dag(8, 8, 8));
    const std::string before = state_text(state);
    REQUIRE(!try_apply(state, PragmaStep{2, 0, form.text}));
    const std::string line = form.state_text;
    const std::size_t end = before.find('\n') + 1;
    CHECK(state_text(state) ==
          before.substr(0, end) + (line.empty() ? "" : "C " + line + "\n") + before.substr(end));
  }
  CHECK(names.size() == std::size(detail::library_hints));
}

TEST_CASE("a struct is what its text says, or nothing") {
  const auto ahead = Hint("prefetch$1$12$2").as<hints::Prefetch>();
  REQUIRE(ahead.has_value());
  CHECK(ahead->operand == 1);
  CHECK(ahead->lines == 12);
  CHECK(ahead->level == 2);
  CHECK(Hint("row_block$17").as<hints::RowBlock>()->rows == 17);  // read, though not legal
  CHECK(Hint("tensorize$a$b").as<hints::Tensorize>()->intrinsic == "a$b");
  for (const char* text :
       {"row_block", "row_block$", "row_block$x", "row_block$4$4", "row_block$4x", "row_block$-1",
        "row_block$2147483648", "row_blocks$4", ""}) {
    INFO(text);
    CHECK(!Hint(text).as<hints::RowBlock>().has_value());
  }
  CHECK(!Hint("prefetch_block$1$1").is<hints::Prefetch>());  // one name begins as the other
}

TEST_CASE("numbers of a hint can be read and changed one by one") {
  Hint hint = hints::Prefetch{1, 12, 2};
  CHECK(hint.number(0) == 1);
  CHECK(hint.number(2) == 2);
  CHECK(!hint.number(3).has_value());
  CHECK(hint.set_number(1, 4));
  CHECK(hint == Hint(hints::Prefetch{1, 4, 2}));
  CHECK(!hint.set_number(3, 1));
  CHECK(!Hint(hints::Tensorize{"x"}).number(0).has_value());
  CHECK(!Hint(hints::StreamResult{}).number(0).has_value());
}

TEST_CASE("the hints of a stage do not depend on the order they came in") {
  std::vector<Step> steps;
  for (const Form& form : forms()) {
    steps.push_back(PragmaStep{2, 0, form.hint});
  }
  State state = State::initial(matmul_dag(8, 8, 8)), reversed = state;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    REQUIRE(!try_apply(state, steps[i]));
    REQUIRE(!try_apply(reversed, steps[steps.size() - 1 - i]));
  }
  REQUIRE(!try_apply(reversed, PragmaStep{2, 0, hints::AutoUnroll{0}}));
  REQUIRE(!try_apply(reversed, PragmaStep{2, 0, hints::PrefetchBlock{1, 3}}));
  CHECK(state_text(state) == state_text(reversed));
}

TEST_CASE("a later hint replaces one of its slot") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  s.hint(2, hints::RowBlock{8});
  s.hint(2, hints::RowBlock{4});
  s.hint(2, hints::PrefetchBlock{0, 1});
  s.hint(2, hints::Prefetch{1, 12, 2});
  const HintList& list = s.state().stage(2).hints;
  CHECK(list.get<hints::RowBlock>().rows == 4);
  CHECK(!list.has<hints::PrefetchBlock>());
  CHECK(operand_prefetch(list).lines == 12);
  CHECK(list.get<hints::LoadAhead>().sets == 0);
  s.hint(2, hints::Prefetch{1, 0, 1});
  CHECK(operand_prefetch(s.state().stage(2).hints).lines == 0);
  CHECK(s.text().find("prefetch") == std::string::npos);
}

TEST_CASE("steps declare what they are") {
  const StepTraits read = traits_of(Step(CacheReadStep{1, "shared", {2}}));
  CHECK(read.adds_stage);
  CHECK(read.adds_behind);
  CHECK(traits_of(Step(StorageLayoutStep{1, {0}, {0}, 0})).is_layout);
  CHECK(!traits_of(Step(StorageLayoutStep{1, {0}, {0}, 0})).is_of_the_reference);
  CHECK(traits_of(Step(FuseStep{1, {0}})).is_of_the_reference);
  CHECK(!traits_of(Step(FuseStep{1, {0}})).is_hint);
  for (const Form& form : forms()) {
    INFO(form.text);
    const StepTraits traits = traits_of(Step(PragmaStep{2, 0, form.hint}));
    CHECK(traits.is_hint);
    CHECK(traits.is_of_the_reference ==
          (form.hint.is<hints::AutoUnroll>() || form.hint.is<hints::SkipRegion>()));
  }
  CHECK(!traits_of(Hint("nobody_knows$4")).is_of_the_reference);
  CHECK(stage_after(CacheReadStep{1, "shared", {2}}, 1) == 1);
  CHECK(stage_after(CacheReadStep{1, "shared", {2}}, 2) == 3);
  CHECK(stage_after(CacheWriteStep{1, "local"}, 1) == 2);
  CHECK(stage_after(PragmaStep{1, 0, hints::RowBlock{4}}, 1) == 1);
}

TEST_CASE("stages say which memory they are in and whether they are parts of a sum") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  const std::int32_t shared = s.cache_read(0, "shared", {2});
  CHECK(s.state().stage(static_cast<std::size_t>(shared)).is_shared_copy());
  const std::int32_t c = s.stage("C");
  s.split(c, 2, {4});
  const std::int32_t parts = s.rfactor(c, 2, 2);
  CHECK(s.state().stage(static_cast<std::size_t>(parts)).is_partial_sum);
  CHECK(!s.state().stage(static_cast<std::size_t>(parts) + 1).is_partial_sum);
  ScheduleBuilder w(matmul_dag(8, 8, 8));
  const std::int32_t cache = w.cache_write(2, "local");
  CHECK(w.state().stage(static_cast<std::size_t>(cache)).scope == "local");
  CHECK(w.state().stage(static_cast<std::size_t>(cache) + 1).scope.empty());
}
