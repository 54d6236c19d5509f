// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/notation.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/text_mutator.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"

using namespace tensorsmith;

TEST_CASE("notation: damaged texts are read or refused, never more") {
  std::vector<std::string> texts;
  for (const ops::GrammarLine& line : ops::workload_grammar) {
    texts.push_back(te::write_notation(*ops::parse_workload(line.example).value().dag).value());
  }
  test::TextMutator mutator(8, {"[",
                                "]",
                                "(",
                                ")",
                                ":",
                                ";",
                                ",",
                                "+=",
                                "max=",
                                "=",
                                "|",
                                "args ",
                                "packed ",
                                "{",
                                "}",
                                "combine ",
                                "-",
                                "!",
                                "?",
                                "%",
                                "//",
                                "1e999",
                                "9223372036854775808",
                                "f16(",
                                ".i8",
                                "inf"});
  int refused = 0, taken = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string damaged = mutator.mutate_one(texts);
    const Result<Shared<const ComputeDag>, std::string> dag = te::read_notation(damaged);
    if (dag) {
      const Result<std::string, std::string> text = te::write_notation(**dag);
      INFO(damaged);
      REQUIRE(text);
      const Result<Shared<const ComputeDag>, std::string> back = te::read_notation(*text);
      REQUIRE(back);
      CHECK(te::is_same_computation(**dag, **back));
    }
    (dag ? taken : refused) += 1;
  }
  CHECK(refused > 300);
  CHECK(taken > 50);
}
