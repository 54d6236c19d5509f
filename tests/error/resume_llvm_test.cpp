// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json llvm
// tensorsmith tune --resume: a killed run goes on, and what it goes on with is told.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

/// On a simulated board the times depend on the candidate alone.
std::vector<std::string> tune_tasks_with(const char* journal, bool resumes) {
  std::vector<std::string> arguments = {"tune",     "--tasks", "tasks",  "--target", "sim:a100",
                                        "--trials", "72",      "--db",   journal,    "--seed",
                                        "3",        "--model", "random", "--json",   "--quiet"};
  for (const char* param : {"evolutionary_search_population=32", "evolutionary_search_num_iters=1",
                            "sample_init_min_population=16"}) {
    arguments.insert(arguments.end(), {"--param", param});
  }
  if (resumes) {
    arguments.push_back("--resume");
  }
  return arguments;
}

/// Whole lines of trials, without the hour.
std::vector<std::string> trials_of(const std::string& text) {
  std::vector<std::string> trials;
  for (const std::string& line : lines_of(text)) {
    nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (record.is_object() && record.value("v", "") == "tensorsmith-1") {
      record.erase("seconds");
      trials.push_back(record.dump());
    }
  }
  return trials;
}

}  // namespace

TEST_CASE("several tasks: a killed run goes on with the same tasks, trials and budget") {
  CommandFolder folder;
  folder.write("tasks", "gemm:64x64x64:f32 3\ngemm:128x64x32:f32\nsoftmax:64x128:f32\n");
  const CommandResult whole = folder.run(tune_tasks_with("whole", false));
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  CHECK(whole.err.empty());
  REQUIRE(whole.json()["trials"] == 72);
  const std::vector<std::string> expected = trials_of(folder.read("whole"));
  REQUIRE(expected.size() == 72);

  const int pid = folder.start(tune_tasks_with("killed", false));
  REQUIRE(eventually([&] { return trials_of(folder.read("killed")).size() >= 15; }));
  ::kill(pid, SIGKILL);
  (void)folder.wait(pid);
  // The same with the end where a kill may leave it: in the middle of the thirty-first line.
  const std::vector<std::string> lines = lines_of(folder.read("whole"));
  std::string torn;
  for (std::size_t i = 0; i < 30; ++i) {
    torn += lines[i] + "\n";
  }
  folder.write("torn", torn + lines[30].substr(0, lines[30].size() / 2));

  for (const char* journal : {"killed", "torn"}) {
    CAPTURE(journal);
    const std::string before = folder.read(journal);
    REQUIRE(trials_of(before).size() >= 15);
    const CommandResult again = folder.run(tune_tasks_with(journal, true));
    CAPTURE(again.err);
    CHECK(again.code == 0);
    CHECK(again.json()["order"] == whole.json()["order"]);
    CHECK(again.json()["trials"] == 72);
    for (std::size_t i = 0; i < 3; ++i) {
      for (const char* field : {"workload", "rounds", "trials", "best_ns"}) {
        CHECK(again.json()["tasks"][i][field] == whole.json()["tasks"][i][field]);
      }
    }
    CHECK(folder.read(journal).substr(0, before.size()) == before);
    CHECK(trials_of(folder.read(journal)) == expected);
  }
}

TEST_CASE("what a resumed run did not find in the journal is said in one line") {
  CommandFolder folder;
  folder.write("tasks", "gemm:64x64x64:f32\ngemm:128x64x32:f32\n");
  REQUIRE(folder.run(tune_tasks_with("j", false)).code == 0);
  std::vector<std::string> lines = lines_of(folder.read("j"));
  lines.resize(20);
  lines[4] = "no record";
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  folder.write("j", text);
  const CommandResult damaged = folder.run(tune_tasks_with("j", true));
  CHECK(damaged.code == 0);
  CHECK(damaged.err == "tensorsmith: 1 line(s) of \"j\" are no records; the first is line 5\n");
  CHECK(folder.read("j").substr(0, text.size()) == text);
  CHECK(trials_of(folder.read("j")).size() == 72);

  folder.write("tasks", "gemm:32x64x64:f32\n");
  const CommandResult other = folder.run(tune_tasks_with("j", true));
  CHECK(other.code == 0);
  CHECK(lines_of(other.err).size() == 1);
  CHECK(other.err.find("there was no run to go on with") != std::string::npos);
  CHECK(other.json()["trials"] == 72);
  check_refusal(
      folder.run({"tune", "--tasks", "tasks", "--trials", "4", "--db", "tasks", "--resume"}),
      "is not a tensorsmith journal");
}

TEST_CASE(
    "a finished run that is resumed tells the same, and one without a journal that it began") {
  CommandFolder folder;
  const std::vector<std::string> command = {
      "tune", "gemm:32x32x32:f32", "--trials", "6", "--db", "j", "--resume", "--json", "--quiet"};
  const CommandResult first = folder.run(command);
  CAPTURE(first.err);
  REQUIRE(first.code == 0);
  CHECK(first.err.find("there was no run to go on with: \"j\" holds no trial") !=
        std::string::npos);
  const CommandResult again = folder.run(command);
  CAPTURE(again.err);
  CHECK(again.code == 0);
  CHECK(again.err.empty());
  CHECK(again.json()["trials"] == 6);
  CHECK(again.json()["best_ns"] == first.json()["best_ns"]);
  CHECK(again.json()["peak_fraction"].is_number());
}
