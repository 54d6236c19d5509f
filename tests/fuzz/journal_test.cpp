// SPDX-License-Identifier: Apache-2.0
// requires: json
// Damaged journals, steps and workload strings: taken or refused in a sentence, and what is taken
// reads back as itself.
#include "tensorsmith/record/journal.hpp"

#include "support/catch.hpp"
#include "support/text_mutator.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/search/policy_params.hpp"
#include "tensorsmith/target.hpp"
#include "unit/record/record_fixtures.hpp"

namespace tensorsmith::test {
namespace {

std::vector<std::string> journal_lines() {
  std::vector<std::string> lines;
  for (std::int64_t trial = 0; trial < 8; ++trial) {
    Record record = some_record(trial, 1000.0 + static_cast<double>(trial));
    record.steps.push_back(AnnotationStep{2, 0, Annotation::vectorize});
    record.steps.push_back(PragmaStep{2, 0, "auto_unroll_max_step$64"});
    record.status = trial % 2 == 0 ? MeasureStatus::ok : MeasureStatus::wrong_result;
    lines.push_back(record_to_line(record));
    lines.push_back(record_to_line(record, RecordKind::winner));
  }
  return lines;
}

}  // namespace

TEST_CASE("the journal reader takes damage", "[fuzz]") {
  const std::vector<std::string> lines = journal_lines();
  TextMutator mutator(seed(), json_tokens());
  std::size_t taken = 0;
  const std::size_t rounds = fuzz(3000, [&] {
    const std::string line = mutator.mutate_one(lines);
    INFO(line);
    const auto read = journal_line_from_text(line);
    if (!read) {
      REQUIRE(!read.error().message.empty());
      return;
    }
    ++taken;
    const std::string written = record_to_line(read->record, read->kind);
    const auto again = journal_line_from_text(written);
    REQUIRE(again.has_value());
    REQUIRE(record_to_line(again->record, again->kind) == written);
  });
  CHECK(taken > 0);
  CHECK(taken < rounds);
}

TEST_CASE("a damaged journal file is read up to and behind the damage", "[fuzz]") {
  const std::vector<std::string> lines = journal_lines();
  TextMutator mutator(seed() + 1, json_tokens());
  const TemporaryFile file;
  fuzz(50, [&] {
    std::string text;
    for (const std::string& line : lines) {
      text += mutator.below(4) == 0 ? mutator.mutate(line, lines.front()) : line;
      text += '\n';
    }
    text.resize(text.size() - mutator.below(40));
    file.write(text);
    const auto read = read_journal(file.path);
    if (read) {
      REQUIRE(read->records.size() + read->winners.size() > 0);
      (void)best_record(*read, "gemm:512x512x512:f32");
    }
  });
}

TEST_CASE("the reader of steps takes damage", "[fuzz]") {
  const std::vector<std::string> texts = {
      R"([["SP", 2, 0, 512, [2, 128, 2], 1], ["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]]])",
      R"([["CHW", 2, "local"], ["FSP", 3, 0, 1, 2], ["CA", 2, 3, 3], ["AN", 3, 0, 3]])",
      R"([["FU", 3, [0, 1, 2, 3]], ["PR", 2, 0, "auto_unroll_max_step$64"], ["CI", 1], ["CR", 1]])",
      R"([["CHR", 1, "shared", [3]], ["FFSP", 1, 0, [2, 1], 1, 1], ["RF", 2, 3, 2]])",
      R"([["SA", 2, 1, 8, 4]])"};
  TextMutator mutator(seed() + 2, json_tokens());
  std::size_t taken = 0;
  const std::size_t rounds = fuzz(3000, [&] {
    const std::string text = mutator.mutate_one(texts);
    INFO(text);
    const auto steps = steps_from_text(text);
    if (!steps) {
      REQUIRE(!steps.error().message.empty());
      return;
    }
    ++taken;
    const auto again = steps_from_text(steps_to_text(*steps));
    REQUIRE(again.has_value());
    REQUIRE(*again == *steps);
  });
  CHECK(taken > 0);
  CHECK(taken < rounds);
}

TEST_CASE("the reader of workload strings takes damage", "[fuzz]") {
  std::vector<std::string> texts;
  for (const ops::GrammarLine& line : ops::workload_grammar) {
    texts.emplace_back(line.example);
  }
  REQUIRE(texts.size() > 10);
  TextMutator mutator(seed() + 3, {":", "x", ",", "=", "f32", "i8", "-1", "0", "relu", "n=1",
                                   "k=", "layout=free", "99999999999", " ", "bias"});
  std::size_t taken = 0;
  const std::size_t rounds = fuzz(2000, [&] {
    const std::string text = mutator.mutate_one(texts);
    INFO(text);
    const auto workload = ops::parse_workload(text);
    if (!workload) {
      REQUIRE(!workload.error().empty());
      return;
    }
    ++taken;
    const std::string& own = workload->name;
    const auto again = ops::parse_workload(own);
    INFO(own);
    REQUIRE(again.has_value());
    REQUIRE(again->name == own);
  });
  CHECK(taken > 0);
  CHECK(taken < rounds);
}

TEST_CASE("damaged workload keys name a program or none", "[fuzz]") {
  const std::vector<std::string> texts = {R"(["matmul", 512, 512, 512])",
                                          R"(["conv2d_nhwc", 1, 56, 56, 64, 64, 3, 1, 1])",
                                          R"(["depthwise_nhwc", 1, 56, 56, 64, 3, 1, 1])"};
  const WorkloadRegistry known = common_workloads();
  TextMutator mutator(seed() + 4, json_tokens());
  std::size_t found = 0;
  const std::size_t rounds = fuzz(2000, [&] {
    const std::string text = mutator.mutate_one(texts);
    INFO(text);
    found += known.find(text) ? 1 : 0;
  });
  CHECK(found > 0);
  CHECK(found < rounds);
}

TEST_CASE("damaged names of targets and parameters are refused", "[fuzz]") {
  const std::vector<std::string> targets = {"host", "x86-64-v3", "x86-64-v4", "sim:a100", "h100"};
  TextMutator mutator(seed() + 5, {"sim:", "x86-64-v", "-", ":", "1e9", "SSRSRS", "0.5"});
  std::size_t known = 0;
  const std::size_t rounds = fuzz(2000, [&] {
    const std::string text = mutator.mutate_one(targets);
    INFO(text);
    known += Target::from_name(text).has_value() ? 1 : 0;
    PolicyParams params;
    for (const PolicyParamInfo& param : PolicyParams::all()) {
      if (params.set(param.name, text).empty()) {
        REQUIRE(params.eps_greedy <= 1);
        REQUIRE(params.evolutionary_search_population >= 1);
      }
    }
  });
  CHECK(known < rounds);
}

}  // namespace tensorsmith::test
