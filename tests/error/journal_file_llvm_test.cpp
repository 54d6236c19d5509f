// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// Files that are no journals are refused and left as they are; torn ones are used.
#include <sys/stat.h>

#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

const std::vector<std::string> short_tune = {"tune",   "gemm:8x8x8:f32", "--trials", "2",
                                             "--json", "--quiet",        "--db",     "j"};

}  // namespace

TEST_CASE("what is no journal is refused by every command and stays as it was") {
  CommandFolder folder;
  std::string binary;
  for (int i = 0; i < 4000; ++i) {
    binary += static_cast<char>((i * 7919) >> 3);
  }
  const std::vector<std::pair<std::string, const char*>> files = {
      {"# notes\nsecond line\n", "line 1 is not JSON"},
      {binary, "is not a tensorsmith journal"},
      {"{\"v\":\"tensorsmith-9\",\"workload\":\"gemm:8x8x8:f32\"}\n", "format \"tensorsmith-9\""},
      {"{\"i\":[[\"[]\",\"llvm\"],[[],[]]],\"r\":[[0.1],0,1,2],\"v\":\"v0.6\"}\n",
       "format \"v0.6\", expected \"tensorsmith-1\"; tensorsmith records reads logs of Ansor"},
      {"[1,2]\n[3]\n", "line 1 is not a JSON object"},
      {std::string("\0\0\0\n\0\n", 6), "line 1 is not JSON"},
  };
  for (const auto& [text, sentence] : files) {
    folder.write("j", text);
    for (const char* command : {"tune", "run", "explain", "export"}) {
      CAPTURE(command, sentence);
      check_refusal(folder.run({command, "gemm:8x8x8:f32", "--db", "j", "--json"}), sentence);
      CHECK(folder.read("j") == text);
    }
  }
}

TEST_CASE("paths that cannot hold a journal") {
  CommandFolder folder;
  std::filesystem::create_directory(folder.path("folder"));
  folder.write("file", "");
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  const std::vector<std::pair<std::string, const char*>> paths = {
      {"", "expected a file name"},
      {"folder", "is not a regular file"},
      {"folder/", "is not a regular file"},
      {"/dev/null", "is not a regular file"},
      {"pipe", "is not a regular file"},
      {"file/j", "there is no folder \"file\""},
      {"no/such/j", "there is no folder \"no/such\" for the journal"},
      {"/proc/no/j", "there is no folder"},
      {std::string(5000, 'x'), "cannot open"}};
  for (const auto& [path, sentence] : paths) {
    CAPTURE(path);
    check_refusal(folder.run({"tune", "gemm:8x8x8:f32", "--trials", "1", "--db", path}), sentence);
  }
  CHECK_FALSE(std::filesystem::exists(folder.path("no")));
  check_refusal(folder.run({"run", "gemm:8x8x8:f32", "--db", "missing"}),
                "there is no journal \"missing\"; run tensorsmith tune gemm:8x8x8:f32 first");
  if (::geteuid() != 0) {  // root may write anything
    REQUIRE(::chmod(folder.path("file").c_str(), 0400) == 0);
    check_refusal(folder.run({"tune", "gemm:8x8x8:f32", "--trials", "1", "--db", "file"}),
                  "Permission denied");
  }
}

TEST_CASE("a torn last line is reported, the rest is used, nothing is overwritten") {
  CommandFolder folder;
  REQUIRE(folder.run(short_tune).code == 0);
  std::string whole = folder.read("j");
  const std::size_t last = whole.find('\n') + 1;
  whole.resize(whole.find('\n', last) + 1);  // the two trials, without the line of the winner
  for (const std::size_t length : {last + 1, last + 40, whole.size() - 20}) {
    CAPTURE(length);
    folder.write("j", whole.substr(0, length));
    const CommandResult ran = folder.run({"run", "gemm:8x8x8:f32", "--db", "j", "--json"});
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
    CHECK(ran.json()["verified"] == true);
    CHECK(lines_of(ran.err) ==
          std::vector<std::string>{"tensorsmith: j:2: skipped, not JSON (the last line is cut "
                                   "off)"});
    const CommandResult more = folder.run(short_tune);
    CHECK(more.code == 0);
    CHECK(more.err.find("line 2") != std::string::npos);
    const std::vector<std::string> lines = lines_of(folder.read("j"));
    REQUIRE(lines.size() == 5);
    CHECK(folder.read("j").substr(0, length) == whole.substr(0, length));
    CHECK(lines[2].front() == '{');
    CHECK(lines[4].back() == '}');
  }
}

TEST_CASE("steps that do not fit the workload are refused by their number") {
  CommandFolder folder;
  REQUIRE(folder.run(short_tune).code == 0);
  const std::string line = lines_of(folder.read("j"))[0];
  for (const char* steps :
       {R"([["SP",2,0,8,[0],1]])", R"([["SP",2,0,8,[-3],1]])", R"([["SP",99,0,8,[2],1]])",
        R"([["SP",-1,0,8,[2],1]])", R"([["CA",2,2147483647,0]])", R"([["RE",2,[0,0,0]]])",
        R"([["AN",2,77,3]])"}) {
    CAPTURE(steps);
    nlohmann::json record = nlohmann::json::parse(line);
    record["steps"] = nlohmann::json::parse(steps);
    folder.write("j", record.dump() + "\n");
    for (const char* command : {"run", "explain", "export"}) {
      check_refusal(folder.run({command, "gemm:8x8x8:f32", "--db", "j", "--json"}), "step 0");
    }
  }
}

TEST_CASE("a record whose steps do not apply is reported and the next best is taken") {
  CommandFolder folder;
  REQUIRE(folder.run(short_tune).code == 0);
  const std::string whole = folder.read("j");
  nlohmann::json damaged = nlohmann::json::parse(lines_of(whole)[0]);
  damaged["status"] = "ok";
  damaged["trial"] = 77;
  damaged["seed"] = 5;
  damaged["min_ns"] = damaged["median_ns"] = 0.5;  // nothing is faster
  damaged["steps"] = nlohmann::json::parse(R"([["FU",2,[]]])");
  folder.write("j", whole + damaged.dump() + "\n");
  for (const char* command : {"run", "explain", "export"}) {
    const CommandResult result = folder.run({command, "gemm:8x8x8:f32", "--db", "j", "--json"});
    CAPTURE(command, result.err);
    CHECK(result.code == 0);
    CHECK(result.err ==
          "tensorsmith: j: the record of trial 77 (seed 5) was skipped: the "
          "schedule does not apply: step 0: stage 2 (C) has rank 2, and the fuse names none of its "
          "iterators\n");
  }
  folder.write("j", damaged.dump() + "\n");
  check_refusal(folder.run({"run", "gemm:8x8x8:f32", "--db", "j", "--json"}),
                "holds no usable trial");
}

TEST_CASE("a journal that cannot grow ends the run with the best so far and says so") {
  CommandFolder folder;
  std::vector<std::string> long_run = short_tune;
  long_run[3] = "1000";
  const CommandResult full = folder.run(long_run, "ulimit -f 64;");
  CAPTURE(full.err);
  CHECK(full.code == 1);
  const std::string error = "tensorsmith: cannot write \"j\": File too large; ";
  REQUIRE(full.err.rfind(error, 0) == 0);
  CHECK(full.json()["trials"] < 1000);
  CHECK(full.json()["best_ns"] > 0);
  // What was measured when the file was full is counted, and said to be in no journal.
  const std::string journal = folder.read("j");
  const auto num_written = std::count(journal.begin(), journal.end(), '\n');
  const int num_unwritten = std::stoi(full.err.substr(error.size()));
  CHECK(num_unwritten >= 1);
  CHECK(full.json()["trials"] == num_written + num_unwritten);
  // The next run does not continue the half line.
  CHECK(folder.run(short_tune).code == 0);
  const std::vector<std::string> lines = lines_of(folder.read("j"));
  std::size_t num_torn = 0;
  for (const std::string& line : lines) {
    num_torn += nlohmann::json::parse(line, nullptr, false).is_discarded() ? 1U : 0U;
  }
  CHECK(num_torn <= 1);
  CHECK(lines.size() >= static_cast<std::size_t>(num_written) + 2);
}

TEST_CASE("two runs share a journal") {
  CommandFolder folder;
  std::vector<int> pids;
  for (const char* seed : {"1", "2"}) {
    pids.push_back(folder.start(
        {"tune", "gemm:16x16x16:f32", "--trials", "60", "--seed", seed, "--db", "j", "--quiet"}));
  }
  for (const int pid : pids) {
    CHECK(folder.wait(pid).code == 0);
  }
  const std::vector<std::string> lines = lines_of(folder.read("j"));
  CHECK(lines.size() == 122);  // a trial each, and the two winners
  for (const std::string& line : lines) {
    CHECK_FALSE(nlohmann::json::parse(line, nullptr, false).is_discarded());
  }
}
