// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/record_file.hpp"

#include "record_fixtures.hpp"
#include "support/catch.hpp"
#include "support/gzip_text.hpp"
#include "tensorsmith/record/convert.hpp"

namespace tensorsmith::test {

namespace {

const std::string log_line =
    R"({"i": [["[\"f\", 8]", "llvm", [4, 64, 64, 0, 0, 0, 0, 0], "", 1, []], [[], []]], )"
    R"("r": [[0.25, 0.5], 0, 1.5, 1600000000], "v": "v0.6"})"
    "\n";

}  // namespace

TEST_CASE("a file may hold lines of logs and of journals", "[record]") {
  const std::string trial = record_to_line(some_record(3, 5)) + "\n",
                    winner = record_to_line(some_record(3, 5), RecordKind::winner) + "\n";
  const TemporaryFile file;
  file.write("\xEF\xBB\xBF" + trial + "# a comment\n" + log_line + winner + "nonsense\n");
  const Result<RecordFile, RecordError> read = read_record_file(file.path);
  REQUIRE(read);
  REQUIRE(read->lines.size() == 2);
  CHECK(read->lines[0].journal == some_record(3, 5));
  CHECK(read->lines[0].ansor == record_to_ansor(some_record(3, 5)));
  CHECK(*ansor_record_to_line(read->lines[1].ansor) + "\n" == log_line);
  CHECK(journal_record(read->lines[1]).log->costs == std::vector<double>{0.25, 0.5});
  REQUIRE(read->winners.size() == 1);
  CHECK(read->winners[0].num_before == 2);
  REQUIRE(read->skipped.size() == 1);
  CHECK(read->skipped[0].number == 5);
  CHECK_FALSE(read->is_journal());
  CHECK(record_file_from_text(trial + winner).is_journal());
}

TEST_CASE("marks and compression cost no record, in logs and journals", "[record]") {
  const std::string trial = record_to_line(some_record(3, 5)) + "\n";
  const TemporaryFile file;
  for (const bool is_packed : {false, true}) {
    const auto write = [&](const std::string& text) {
      file.write(is_packed ? gzip_text(text) : text);
    };
    write("\xEF\xBB\xBF" + log_line);
    const Result<AnsorLog, RecordError> log = read_ansor_log(file.path);
    write("\xEF\xBB\xBF" + trial);
    const Result<JournalContents, RecordError> journal = read_journal(file.path);
#ifndef TENSORSMITH_TEST_ZLIB
    if (is_packed) {
      CHECK(log.error().message.find("gunzip") != std::string::npos);
      CHECK(journal.error().message.find("gunzip") != std::string::npos);
      continue;
    }
#endif
    REQUIRE(log);
    CHECK(log->records.size() == 1);
    REQUIRE(journal);
    CHECK(journal->records.size() == 1);
    CHECK(journal->skipped.empty());
  }
  CHECK(ansor_log_from_text("\xEF\xBB\xBF" + log_line).records.size() == 1);
  const std::string before = file.read();
  const Result<Journal, RecordError> opened = Journal::open(file.path);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message.find("gunzip") != std::string::npos);
  CHECK(file.read() == before);
}

TEST_CASE("logs of other tuners are told by their names", "[record]") {
  const std::string autotvm =
      R"({"input": ["llvm", "dense.x86", [["TENSOR", [1, 8], "float32"]], {}], "config": )"
      R"({"index": 5, "entity": []}, "result": [[1e-05], 0, 1.5, 1600000000.5], "version": 0.2})";
  const std::string older = R"({"i": ["llvm", "dense", [], {}, null, {}], "r": [[1], 0, 1, 1]})";
  const std::string trace =
      R"([0, [[[["GetBlock", [], ["C", "main"], ["b0"]]], []], [2.5e-05], {"kind": "llvm"}, []]])";
  const std::string workload = R"(["13213699815751266215", "AmYAAAAA"])";
  const TemporaryFile file;
  for (const auto& [line, what] :
       {std::pair(autotvm, "a log of AutoTVM (3 records)"),
        std::pair(older, "a log of AutoTVM (3 records)"),
        std::pair(trace, "a database of tuning records of MetaSchedule (3 records)"),
        std::pair(workload, "the table of workloads of a MetaSchedule database (3 workloads)")}) {
    file.write("# a comment\n" + line + "\n" + line + "\n\n" + line + "\n");
    for (const std::string& message :
         {read_record_file(file.path).error().message, read_ansor_log(file.path).error().message,
          read_journal(file.path).error().message, Journal::open(file.path).error().message}) {
      INFO(message);
      CHECK(message.find(std::string("is ") + what) != std::string::npos);
      CHECK(message.find("it is not read") != std::string::npos);
    }
  }
  for (const char* none : {"[1, 2]", "[\"12\"]", "{\"a\": 1}", "[1,[[2]]]", "text"}) {
    file.write(std::string(none) + "\n" + autotvm + "\n");
    CHECK(read_record_file(file.path).error().message.find("holds no records; line 1") !=
          std::string::npos);
  }
}

}  // namespace tensorsmith::test
