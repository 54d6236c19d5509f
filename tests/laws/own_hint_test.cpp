// SPDX-License-Identifier: Apache-2.0
// A kind of hint that the library does not have, from this file alone: it is read, replayed,
// printed, stored, searched by templates, and lowered as those of the library are. requires: json
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/register_hint.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/space/enumerate.hpp"
#include "tensorsmith/space/template_builder.hpp"
#include "unit/lower/lower_fixtures.hpp"

namespace tensorsmith::test {
namespace {

/// Loops of at most so many iterations are written out wherever the stage is stored.
struct SmallLoops {
  static constexpr std::string_view name = "small_loops";
  static constexpr StepTraits traits = own_hint;
  std::int32_t most = 0;
  static constexpr auto fields() { return field_list(&SmallLoops::most); }
  bool is_legal() const { return most >= 1; }

  void lower(LoopProgram& program, std::string_view stage) const {
    for (Stmt& stmt : program.stmts) {
      For* loop = std::get_if<For>(&stmt);
      const IntImm* extent = loop != nullptr ? program.pool.as<IntImm>(loop->extent) : nullptr;
      if (extent != nullptr && extent->value <= most && loop->kind == ForKind::serial &&
          stores(program, loop->body, stage)) {
        loop->kind = ForKind::unrolled;
      }
    }
  }

 private:
  static bool stores(const LoopProgram& program, StmtId id, std::string_view stage) {
    if (const Store* store = program.as<Store>(id)) {
      return program.buffers[store->buffer.value].name == stage;
    }
    bool found = false;
    for_each_child(program[id],
                   [&](StmtId child) { found = found || stores(program, child, stage); });
    return found;
  }
};

/// One that lowering does not know: a word for people.
struct Remark {
  static constexpr std::string_view name = "remark", slot = "remark";
  static constexpr StepTraits traits = own_hint;
  std::int32_t importance = 0;
  std::string word;
  static constexpr auto fields() { return field_list(&Remark::importance, &Remark::word); }
  bool is_legal() const { return importance <= 3; }
  std::string state_text() const { return "is said to be " + word; }
};

/// Nobody registers it.
struct Unknown {
  static constexpr std::string_view name = "nobody_knows";
  static constexpr StepTraits traits = own_hint;
  std::int32_t value = 0;
  static constexpr auto fields() { return field_list(&Unknown::value); }
  bool is_legal() const { return true; }
};

State with(const std::vector<Step>& steps) {
  register_hint<SmallLoops>();
  register_hint<Remark>();
  State state = State::initial(matmul_dag(3, 4, 5));
  for (const Step& step : steps) {
    REQUIRE(!try_apply(state, step));
  }
  return state;
}

}  // namespace

TEST_CASE("an own hint is applied, refused, printed and replayed") {
  const State state = with({PragmaStep{2, 0, Remark{1, "fast"}}, PragmaStep{2, 0, SmallLoops{4}},
                            PragmaStep{2, 0, hints::RowBlock{2}}});
  CHECK(state_text(state).find("C row_block: 2\nC is said to be fast\nC small_loops: 4\n") !=
        std::string::npos);
  CHECK(state.stage(2).hints.get<SmallLoops>().most == 4);
  const auto again = replay(state.initial_dag(), state.steps());
  REQUIRE(again);
  CHECK(same_program(*again, state));
  State other = State::initial(matmul_dag(3, 4, 5));
  const auto code_of = [&](const Hint& hint) {
    const StepCheck error = try_apply(other, PragmaStep{2, 0, hint});
    return error ? error->code : ScheduleErrorCode{};
  };
  CHECK(code_of("small_loops$0") == ScheduleErrorCode::pragma_value);
  CHECK(code_of("small_loops") == ScheduleErrorCode::pragma_value);
  CHECK(code_of("remark$4$slow") == ScheduleErrorCode::pragma_value);
  CHECK(code_of(Unknown{1}) == ScheduleErrorCode::pragma_unknown);
}

TEST_CASE("an own hint is stored in records of this project and in no others") {
  const State state = with({PragmaStep{2, 0, SmallLoops{4}}, PragmaStep{2, 0, Remark{2, "a\"b"}}});
  const std::string text = steps_to_text(state.steps());
  CHECK(text == R"([["PR",2,0,"small_loops$4"],["PR",2,0,"remark$2$a\"b"]])");
  const auto back = steps_from_text(text);
  REQUIRE(back);
  CHECK(*back == state.steps());
  CHECK(hash_text(steps_json(*back)) == hash_text(steps_json(state.steps())));
  // A program that does not know the kind keeps the step, and cannot apply it.
  const auto foreign = steps_from_text(R"([["PR",2,0,"nobody_knows$4"]])");
  REQUIRE(foreign);
  CHECK(hint_in<Unknown>(foreign->front())->value == 4);
  CHECK(steps_to_text(*foreign) == R"([["PR",2,0,"nobody_knows$4"]])");
  AnsorRecord record;
  record.steps = state.steps();
  record.costs = {1.0};
  CHECK(!ansor_record_to_line(record));
}

TEST_CASE("an own hint is a variable of a template") {
  with({});
  TemplateBuilder builder(matmul_dag(3, 4, 5));
  const std::int32_t c = builder.stage("C");
  builder.hint(c, Remark{1, "fixed"});
  builder.hint<SmallLoops>(c, "small", {3, 4, 8});
  const Template of = builder.finish();
  const Enumeration all(of.sampler());
  REQUIRE(all.count() == 3U);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto state = of.apply(all.at(i));
    REQUIRE(state.has_value());
    CHECK(of.read(*state) == all.at(i));
    CHECK(state->stage(2).hints.get<SmallLoops>().most == all.at(i)[of.space().find("small")]);
    std::vector<Step> swapped = state->steps();
    std::swap(swapped[0], swapped[1]);
    CHECK(is_same_history(swapped, state->steps()));
  }
}

TEST_CASE("lowering honours an own hint that is a pass, and passes over others") {
  const LoopProgram plain = lowered(with({}));
  const LoopProgram remarked = lowered(with({PragmaStep{2, 0, Remark{1, "fast"}}}));
  CHECK(to_text(remarked) == to_text(plain));
  const State state = with({PragmaStep{2, 0, SmallLoops{4}}});
  const LoopProgram small = lowered(state);
  CHECK(to_text(plain).find("for i in 3:") != std::string::npos);
  CHECK(to_text(small).find("for i in 3 unrolled:") != std::string::npos);
  CHECK(wrong_with(small, state.dag()) == "");
}

}  // namespace tensorsmith::test
