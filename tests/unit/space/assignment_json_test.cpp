// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/space/assignment_json.hpp"

#include "support/catch.hpp"
#include "unit/space/space_fixtures.hpp"

namespace tensorsmith::test {
namespace {

VariableSpace named_space() {
  VariableSpace space;
  for (const char* name : {"C.i.1", "B.place", "a \"quoted\\name\"", "tab\t", "\xc3\xa4", "x'"}) {
    space.add(name, VariableRole::hint, Domain::interval(-3, 3));
  }
  return space;
}

}  // namespace

TEST_CASE("assignments are the same after JSON") {
  const VariableSpace space = named_space();
  Assignment values(space.size());
  values[VariableId{0}] = 16;
  values[VariableId{2}] = -2147483647;
  CHECK(to_json(space, values) == "{\"C.i.1\": 16, \"a \\\"quoted\\\\name\\\"\": -2147483647}");
  CHECK(to_json(space, Assignment(space.size())) == "{}");
  for (std::uint32_t i = 0; i < 60; ++i) {
    CounterRng rng(seed(), 62, i);
    const VariableSpace drawn = i % 2 == 0 ? random_space(rng) : named_space();
    Assignment some(drawn.size());
    for (std::uint32_t v = 0; v < drawn.size(); ++v) {
      if (rng.next_below(3) > 0) {
        some[VariableId{v}] = static_cast<std::int32_t>(rng.next_u32() / 2) - (1 << 30);
      }
    }
    const auto read = assignment_from_json(drawn, to_json(drawn, some));
    REQUIRE(read.has_value());
    CHECK(*read == some);
  }
}

TEST_CASE("members may stand in any order and form") {
  const VariableSpace space = named_space();
  const auto read = assignment_from_json(
      space, " {\n\t\"\\u0078'\" :-0 , \"B\\u002eplace\":7,\"\\u00e4\" : 2,\r\n\"tab\\t\":1 } ");
  REQUIRE(read.has_value());
  CHECK((*read)[space.find("x'")] == 0);
  CHECK((*read)[space.find("B.place")] == 7);
  CHECK((*read)[space.find("\xc3\xa4")] == 2);
  CHECK((*read)[space.find("tab\t")] == 1);
  CHECK((*read)[space.find("C.i.1")] == not_asked);
}

TEST_CASE("what is no assignment is refused with the reason") {
  const VariableSpace space = named_space();
  CHECK(assignment_from_json(space, "{\"C.j\": 1}").error() == "there is no variable \"C.j\"");
  CHECK(assignment_from_json(space, "{\"x'\": 1, \"x'\": 1}").error() == "two values of \"x'\"");
  CHECK(assignment_from_json(space, "{\"x'\": -2147483648}").error() ==
        "the value of \"x'\" is out of range");
  for (const char* wrong : {"",
                            "{",
                            "}",
                            "[]",
                            "{\"x'\"}",
                            "{\"x'\":}",
                            "{\"x'\":1",
                            "{\"x'\":1,}",
                            "{\"x'\":1}}",
                            "{\"x'\":2147483648}",
                            "{\"x'\":01}",
                            "{\"x'\":1.5}",
                            "{\"x'\":\"1\"}",
                            "{x':1}",
                            "{\"x'\":--1}",
                            "{\"x'\":-}",
                            "{\"\\ud800\":1}",
                            "{\"\\q\":1}",
                            "{\"x'\n\":1}",
                            "{\"\\u00g0\":1}",
                            "{\"x'\":null}"}) {
    INFO(wrong);
    const auto read = assignment_from_json(space, wrong);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().find("expected an object") == 0);
  }
}

}  // namespace tensorsmith::test
