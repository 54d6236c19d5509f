// SPDX-License-Identifier: Apache-2.0
// requires: json
// The winners of final rankings in a journal.
#include <vector>

#include "record_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/record/journal.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("the winner of a run stands before the trials it was chosen from") {
  TemporaryFile file;
  const auto ok = [](std::int64_t trial, double min_ns, std::uint64_t seed = 1) {
    Record record = some_record(trial, min_ns);
    record.seed = seed;
    return record;
  };
  {
    auto journal = Journal::open(file.path);
    REQUIRE(journal);
    REQUIRE(journal->append(ok(0, 90)));  // a lucky time
    REQUIRE(journal->append(ok(1, 100)));
    REQUIRE(journal->append(ok(1, 110), RecordKind::winner));
  }
  const std::string workload = ok(0, 1).workload;
  auto contents = read_journal(file.path);
  REQUIRE(contents);
  CHECK(contents->records.size() == 2);
  CHECK(contents->skipped.empty());
  REQUIRE(contents->winners.size() == 1);
  CHECK(contents->winners[0].num_before == 2);
  CHECK(contents->winners[0].record == ok(1, 110));
  CHECK(best_record(contents->records, workload)->trial == 0);
  CHECK(best_record(*contents, workload)->min_ns == 110);
  CHECK(load_best(file.path, workload).value()->min_ns == 110);
  CHECK_FALSE(best_record(*contents, "gemm:1x1x1:f32"));

  // Passed over: the winner, then the trials behind it, the fastest first.
  std::vector<double> asked;
  CHECK_FALSE(best_record(*contents, workload, {}, 0, [&](const Record& record) {
    asked.push_back(record.min_ns);
    return false;
  }));
  CHECK(asked == std::vector<double>{110, 90, 100});

  // Of another run, or of a later one with the same settings that was cut off: not ranked.
  auto journal = Journal::open(file.path);
  REQUIRE(journal);
  REQUIRE(journal->append(ok(0, 105, 2)));
  contents = read_journal(file.path);
  CHECK(best_record(*contents, workload)->seed == 2);
  REQUIRE(journal->append(ok(0, 95)));
  CHECK(best_record(*read_journal(file.path), workload)->min_ns == 95);
}

TEST_CASE("a line of a winner is one of its own kind, and a damaged one is skipped") {
  TemporaryFile file;
  Record record = some_record(3, 7);
  record.low_ns = 6.5;
  record.high_ns = 7.5;
  record.num_ties = 2;
  const std::string line = record_to_line(record, RecordKind::winner);
  CHECK(record_from_line(line, RecordKind::winner).value() == record);
  CHECK_FALSE(record_from_line(line));
  CHECK_FALSE(record_from_line(record_to_line(record), RecordKind::winner));
  std::string damaged = line;
  damaged.replace(damaged.find("\"threads\":2"), 11, "\"threads\":0");
  std::string older = line;
  const std::size_t at = older.find("\"low_ns\"");
  older.erase(at, older.find("\"seconds\"") - at);
  REQUIRE(record_from_line(older, RecordKind::winner).has_value());
  CHECK(record_from_line(older, RecordKind::winner)->high_ns == 0);
  file.write(record_to_line(record) + "\n" + damaged + "\n" + line + "\n");
  const auto contents = read_journal(file.path);
  REQUIRE(contents);
  CHECK(contents->records.size() == 1);
  CHECK(contents->winners.size() == 1);
  REQUIRE(contents->skipped.size() == 1);
  CHECK(contents->skipped[0].number == 2);
  CHECK(contents->skipped[0].reason.find("\"threads\"") != std::string::npos);
}
