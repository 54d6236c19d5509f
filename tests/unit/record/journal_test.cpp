// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "tensorsmith/record/journal.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

template <class T>
void draw(CounterRng& rng, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = rng.next_below(2) == 1;
  } else if constexpr (std::is_same_v<T, Annotation>) {
    value = static_cast<Annotation>(rng.next_below(12));
  } else if constexpr (std::is_same_v<T, std::string>) {
    value.clear();
    const char* pieces[] = {"local", "auto_unroll_max_step$64", "\"", "\\", "\n", "ü", ""};
    for (std::uint32_t n = rng.next_below(4); n > 0; --n) {
      value += pieces[rng.next_below(7)];
    }
  } else if constexpr (std::is_same_v<T, Hint>) {
    std::string text;
    draw(rng, text);
    value = text;
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(rng.next_u64());
  } else {
    value.clear();
    for (std::uint32_t n = rng.next_below(12); n > 0; --n) {
      typename T::value_type entry{};
      draw(rng, entry);
      value.push_back(entry);
    }
  }
}

template <std::size_t I = 0>
void draw_every_step(CounterRng& rng, std::vector<Step>& steps) {
  if constexpr (I < std::variant_size_v<Step>) {
    using S = std::variant_alternative_t<I, Step>;
    S step{};
    S::fields()([&](auto... field) { (draw(rng, step.*field), ...); });
    steps.push_back(step);
    draw_every_step<I + 1>(rng, steps);
  }
}

Record failed_record(std::int64_t trial, MeasureStatus status) {
  Record record = some_record(trial, 0);
  record.status = status;
  record.median_ns = 0;
  record.is_verified = false;
  record.message = "SIGSEGV at \"0x0\"\nsecond line";
  return record;
}

}  // namespace

TEST_CASE("steps are written as in the reference's logs") {  // Ansor reference, ch. 2.3 and 3.4
  const std::vector<Step> steps = {CacheWriteStep{2, "local"},
                                   SplitStep{2, 0, 512, {2, 128, 2}, true},
                                   ReorderStep{2, {0, 4, 1}},
                                   FollowSplitStep{3, 0, 1, 2},
                                   FollowFusedSplitStep{3, 0, {2, 1}, 1, true},
                                   ComputeAtStep{2, 3, 3},
                                   FuseStep{3, {0, 1, 2, 3}},
                                   AnnotationStep{3, 0, Annotation::parallel},
                                   PragmaStep{2, 0, "auto_unroll_max_step$64"},
                                   CacheReadStep{1, "shared", {2}},
                                   RfactorStep{2, 1, 2},
                                   StorageAlignStep{1, 0, 32, 16},
                                   ComputeInlineStep{4},
                                   ComputeRootStep{4}};
  CHECK(steps_to_text(steps) ==
        R"([["CHW",2,"local"],["SP",2,0,512,[2,128,2],1],["RE",2,[0,4,1]],["FSP",3,0,1,2],)"
        R"(["FFSP",3,0,[2,1],1,1],["CA",2,3,3],["FU",3,[0,1,2,3]],["AN",3,0,3],)"
        R"(["PR",2,0,"auto_unroll_max_step$64"],["CHR",1,"shared",[2]],["RF",2,1,2],)"
        R"(["SA",1,0,32,16],["CI",4],["CR",4]])");
  const auto back = steps_from_text(R"( [ ["SP", 2, 0, 512, [2, 128, 2], 0] ] )");
  REQUIRE(back);
  CHECK(back.value() == std::vector<Step>{SplitStep{2, 0, 512, {2, 128, 2}, false}});
}

TEST_CASE("every step type survives the round trip") {
  CounterRng rng(test::seed(), 1);
  for (int i = 0; i < 200; ++i) {
    std::vector<Step> steps;
    draw_every_step(rng, steps);
    REQUIRE(steps.size() == std::variant_size_v<Step>);
    const std::string text = steps_to_text(steps);
    CHECK(text.find('\n') == std::string::npos);
    const auto back = steps_from_text(text);
    REQUIRE(back);
    CHECK(back.value() == steps);
    CHECK(hash_steps(back.value()) == hash_steps(steps));
  }
}

TEST_CASE("damaged steps are errors, not guesses") {
  for (const char* text :
       {"", "7", "[7]", "[[]]", "[[1]]", R"([["XX", 1]])", R"([["CI"]])", R"([["CI", 1, 2]])",
        R"([["CI", 1.5]])", R"([["CI", "1"]])", R"([["CI", 4294967296]])", R"([["AN", 0, 0, 12]])",
        R"([["AN", 0, 0, -1]])", R"([["SP", 0, 0, 8, [2], 2]])", R"([["SP", 0, 0, 8, 2, 1]])",
        R"([["SP", 0, 0, 8, [null], 1]])", R"([["CHW", 0, 1]])",
        R"([["SP", 0, 0, 18446744073709551615, [2], 1]])", R"([["CI", 1])"}) {
    INFO(text);
    CHECK_FALSE(steps_from_text(text));
  }
  const auto error = steps_from_text(R"([["CI", 0], ["AN", 0, 0, 99]])");
  REQUIRE_FALSE(error);
  CHECK(error.error().message ==
        "step 1: step \"AN\" field 3 is out of range or of the wrong kind");
}

TEST_CASE("a record survives the round trip, whatever its status") {
  CHECK(record_from_line(record_to_line(some_record(7, 0.1 + 0.2))).value() ==
        some_record(7, 0.1 + 0.2));
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    const MeasureStatus status = static_cast<MeasureStatus>(i);
    const Record record =
        status == MeasureStatus::ok ? some_record(1, 5) : failed_record(1, status);
    const std::string line = record_to_line(record);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(record_from_line(line).value() == record);
  }
}

TEST_CASE("a record with a missing or bad field is refused by name") {
  const std::string line = record_to_line(some_record(7, 100));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = line;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    changed.replace(at, from.size(), to);
    const auto record = record_from_line(changed);
    return record ? std::string("accepted") : record.error().message;
  };
  CHECK(with("\"threads\":2", "\"threads\":0").find("threads") != std::string::npos);
  CHECK(with("\"threads\":2", "\"thread\":2") == "field \"threads\" is missing");
  CHECK(with("\"ok\"", "\"fine\"") == "unknown status \"fine\"");
  CHECK(with("tensorsmith-1", "v0.6").find("format") != std::string::npos);
  CHECK(with("\"min_ns\":100.0", "\"min_ns\":-1") ==
        "field \"min_ns\" is out of range or of the wrong kind");
  CHECK(with("\"min_ns\":100.0", "\"min_ns\":0") == "an ok trial without times");
  CHECK(with("\"round\":3", "\"round\":1e3").find("round") != std::string::npos);
  CHECK(with("\"round\":3", "\"round\":3,\"later\":1") == "accepted");
}

TEST_CASE("a journal keeps every record, and a second run appends") {
  TemporaryFile file;
  CHECK(Journal::open((file.folder / "new" / "j.jsonl").string())
            .error()
            .message.find("there is no folder \"") == 0);
  CHECK_FALSE(std::filesystem::exists(file.folder / "new"));
  std::filesystem::create_directory(file.folder / "new");
  {
    auto journal = Journal::open((file.folder / "new" / "j.jsonl").string());
    REQUIRE(journal);
    REQUIRE(journal->append(some_record(0, 200)));
    // On disk at once, without closing.
    CHECK(read_journal((file.folder / "new" / "j.jsonl").string())->records.size() == 1);
    REQUIRE(journal->append(failed_record(1, MeasureStatus::crashed)));
  }
  auto again = Journal::open((file.folder / "new" / "j.jsonl").string());
  REQUIRE(again);
  REQUIRE(again->append(some_record(2, 100)));
  const auto contents = read_journal(again->path());
  REQUIRE(contents);
  REQUIRE(contents->records.size() == 3);
  CHECK(contents->records[1].status == MeasureStatus::crashed);
  CHECK(contents->skipped.empty());
  CHECK_FALSE(contents->has_torn_end);
}

TEST_CASE("a torn last line is skipped by its number and never overwritten") {
  TemporaryFile file;
  const std::string whole = record_to_line(some_record(0, 200)) + "\n";
  const std::string torn = record_to_line(some_record(1, 150)).substr(0, 100);
  file.write(whole + torn);
  const auto contents = read_journal(file.path);
  REQUIRE(contents);
  CHECK(contents->records.size() == 1);
  REQUIRE(contents->skipped.size() == 1);
  CHECK(contents->skipped[0].number == 2);
  CHECK(contents->has_torn_end);
  {
    auto journal = Journal::open(file.path);
    REQUIRE(journal);
    CHECK(journal->skipped().size() == 1);
    REQUIRE(journal->append(some_record(2, 100)));
  }
  CHECK(file.read() == whole + torn + "\n" + record_to_line(some_record(2, 100)) + "\n");
  CHECK(read_journal(file.path)->records.size() == 2);
}

TEST_CASE("a journal cut at any byte still gives its whole lines, and grows without a loss") {
  TemporaryFile file;
  const std::string lines =
      record_to_line(some_record(0, 200)) + "\n" + record_to_line(some_record(1, 100)) + "\n";
  const std::size_t first = lines.find('\n') + 1;
  const std::string next = record_to_line(some_record(2, 50)) + "\n";
  for (std::size_t length = 0; length <= lines.size(); ++length) {
    CAPTURE(length);
    file.write(lines.substr(0, length));
    const auto contents = read_journal(file.path);
    REQUIRE(contents);
    const std::size_t expected = length + 1 >= lines.size() ? 2 : length + 1 >= first ? 1 : 0;
    CHECK(contents->records.size() == expected);
    const bool is_whole =
        length == 0 || length + 1 == first || length == first || length + 1 >= lines.size();
    CHECK(contents->skipped.size() == (is_whole ? 0 : 1));
    auto journal = Journal::open(file.path);
    REQUIRE(journal);
    REQUIRE(journal->append(some_record(2, 50)));
    const bool has_end = length == 0 || lines[length - 1] == '\n';
    CHECK(file.read() == lines.substr(0, length) + (has_end ? "" : "\n") + next);
    CHECK(read_journal(file.path)->records.size() == expected + 1);
  }
}

TEST_CASE("a record that did not fit on the disk does not spoil the next one") {
  TemporaryFile file;
  auto journal = Journal::open(file.path);
  REQUIRE(journal);
  REQUIRE(journal->append(some_record(0, 200)));
  const std::size_t size = file.read().size();
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const rlimit limit = {size + 50, old_limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto refused = journal->append(some_record(1, 150));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  std::signal(SIGXFSZ, old_handler);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("cannot write \"" + file.path + "\"") == 0);
  CHECK(file.read().size() == size + 50);
  REQUIRE(journal->append(some_record(2, 100)));
  const auto contents = read_journal(file.path);
  REQUIRE(contents->records.size() == 2);
  CHECK(contents->records[1].trial == 2);
  CHECK(contents->skipped.size() == 1);
  CHECK_FALSE(contents->has_torn_end);
}

TEST_CASE("a journal that several runs write to keeps their lines apart", "[threads]") {
  TemporaryFile file;
  constexpr std::int64_t each = 60;  // every open reads all that is there
  std::vector<std::thread> writers;
  std::array<bool, 3> is_good{};
  for (std::size_t w = 0; w < is_good.size(); ++w) {
    writers.emplace_back([&, w] {
      is_good[w] = true;
      for (std::int64_t i = 0; i < each; ++i) {  // opened anew, as by as many runs
        auto journal = Journal::open(file.path);
        is_good[w] = is_good[w] && journal && journal->append(some_record(i, 100));
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  CHECK(is_good == std::array<bool, 3>{true, true, true});
  const auto contents = read_journal(file.path);
  REQUIRE(contents);
  CHECK(contents->records.size() == 3 * each);
  CHECK(contents->skipped.empty());
}

TEST_CASE("a pipe or a device is not waited for") {
  TemporaryFile file;
  REQUIRE(::mkfifo(file.path.c_str(), 0600) == 0);
  for (const std::string& path : {file.path, std::string("/dev/null")}) {
    const auto journal = Journal::open(path);
    REQUIRE_FALSE(journal);
    CHECK(journal.error().message == "\"" + path + "\" is not a regular file");
  }
}

TEST_CASE("bad lines in the middle are reported, the others are read") {
  TemporaryFile file;
  file.write(record_to_line(some_record(0, 200)) + "\n{\"v\": 1}\nnonsense\n\n" +
             record_to_line(some_record(1, 100)) + "\n");
  const auto contents = read_journal(file.path);
  REQUIRE(contents);
  CHECK(contents->records.size() == 2);
  REQUIRE(contents->skipped.size() == 2);
  CHECK(contents->skipped[0].number == 2);
  CHECK(contents->skipped[1].number == 3);
  CHECK(contents->skipped[1].reason == "not JSON");
}

TEST_CASE("a foreign file is refused and stays as it was") {
  TemporaryFile file;
  const std::string foreign = "# my notes\nsecond line\n";
  file.write(foreign);
  const auto journal = Journal::open(file.path);
  REQUIRE_FALSE(journal);
  CHECK(journal.error().message ==
        "\"" + file.path + "\" is not a tensorsmith journal: line 1 is not JSON");
  CHECK(file.read() == foreign);
  CHECK_FALSE(Journal::open(file.folder.string()));
  CHECK_FALSE(read_journal(file.path + ".missing"));
}

TEST_CASE("load_best gives the fastest ok record that fits, without measuring") {
  TemporaryFile file;
  {
    auto journal = Journal::open(file.path);
    REQUIRE(journal);
    Record other_threads = some_record(1, 10);
    other_threads.num_threads = 1;
    Record other_workload = some_record(2, 1);
    other_workload.workload = "softmax:8x8";
    other_workload.workload_key = "other";
    for (const Record& record :
         {some_record(0, 200), other_threads, other_workload, some_record(3, 100),
          failed_record(4, MeasureStatus::wrong_result), some_record(5, 150)}) {
      REQUIRE(journal->append(record));
    }
  }
  const std::string workload = some_record(0, 1).workload;
  CHECK(load_best(file.path, workload, "host", 2).value()->trial == 3);
  CHECK(load_best(file.path, workload).value()->trial == 1);
  CHECK(load_best(file.path, some_record(0, 1).workload_key, "host", 2).value()->trial == 3);
  CHECK_FALSE(load_best(file.path, workload, "x86-64-v4").value().has_value());
  CHECK_FALSE(load_best(file.path, "gemm:1x1x1:f32").value().has_value());
  CHECK_FALSE(load_best(file.path + ".missing", workload));
}
