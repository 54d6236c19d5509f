// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// The records command as users run it: logs of the reference, journals, damage, wrong requests.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

std::string line_of(const std::string& key, const std::string& target, const std::string& cost,
                    const std::string& error = "0") {
  return R"({"i": [["[\")" + key + R"(\", 8, 8, 8]", ")" + target +
         R"(", [2, 64, 64, 0, 0, 0, 0, 0], "", 1, []], [[], [["SP", 2, 0, 8, [)" +
         std::to_string(2 + cost.size() % 3) + R"(], 1]]]], "r": [[)" + cost + "], " + error +
         R"(, 0.5, 1600000000], "v": "v0.6"})" + "\n";
}

const std::string slow = line_of("matmul", "llvm -keys=cpu", "0.003"),
                  fast = line_of("matmul", "llvm -keys=cpu", "0.00012"),
                  other = line_of("f", "cuda -keys=cuda,gpu", "0.5"),
                  failed = line_of("matmul", "llvm", "1e+10", "2");
const std::string key = "[\"matmul\", 8, 8, 8]";

}  // namespace

TEST_CASE("records of a log are shown, damage is reported by line") {
  CommandFolder folder;
  folder.write("log", slow + "nonsense\n" + fast + other + failed);
  const CommandResult shown = folder.run({"records", "show", "log", "--json"});
  CHECK(shown.code == 0);
  CHECK(shown.err.find("line 2") != std::string::npos);
  CHECK(shown.json()["num_records"] == 4);
  CHECK(shown.json()["num_failed"] == 1);
  CHECK(shown.json()["top"][0]["seconds"] == 0.00012);
  const CommandResult text = folder.run({"records", "show", "log", "--top", "1"});
  CHECK(text.out.find("4 records, 1 of them failed") == 0);
  CHECK(text.out.find("120") != std::string::npos);
}

TEST_CASE("the best record of a workload is printed as it was") {
  CommandFolder folder;
  folder.write("log", slow + fast + other);
  CHECK(folder.run({"records", "best", "log", "--key", key}).out == fast);
  CHECK(folder.run({"records", "best", "log", "--key", key, "--target", "llvm"}).out == fast);
  CHECK(folder.run({"records", "best", "log", "--key", key, "--target", "cuda"}).code == 1);
  CHECK(folder.run({"records", "best", "log", "--key", "[\"matmul\", 16, 8, 8]"}).code == 1);
  CHECK(folder.run({"records", "best", "log", "--key", "[\"matmul\", 16, 8, 8]", "--compatible"})
            .out == fast);
}

TEST_CASE("the best record is found by a workload string, and without any of a single workload") {
  CommandFolder folder;
  folder.write("log", slow + fast);
  CHECK(folder.run({"records", "best", "log"}).out == fast);
  folder.write("two", slow + fast + other);
  check_refusal(folder.run({"records", "best", "two"}), "the records are of 2 workloads; --key");
  for (const char* workload : {"gemm:8x8x8:f32", "gemm:16x8x8:f32"}) {
    REQUIRE(folder.run({"tune", workload, "--trials", "2", "--db", "j", "--quiet"}).code == 0);
  }
  check_refusal(folder.run({"records", "best", "j"}), "e.g. --key 'gemm:8x8x8:f32'");
  const CommandResult found =
      folder.run({"records", "best", "j", "--key", "gemm:16x8x8:f32", "--json"});
  CAPTURE(found.err);
  CHECK(found.code == 0);
  const CommandResult shown = folder.run({"records", "show", "j", "--json"});
  CHECK(shown.json()["top"].dump().find(found.json()["workload"].dump()) != std::string::npos);
  CHECK(folder.run({"records", "best", "j", "--key", "gemm:24x8x8:f32"}).code == 1);
}

TEST_CASE("logs are merged, distilled and converted") {
  CommandFolder folder;
  folder.write("a", slow + other);
  folder.write("b", fast + slow);
  CHECK(folder.run({"records", "merge", "a", "b", "--output", "all"}).code == 0);
  CHECK(folder.read("all") == slow + other + fast);
  CHECK(folder.run({"records", "merge", "all", "--best", "--output", "best"}).code == 0);
  CHECK(folder.read("best") == other + fast);
  const CommandResult converted =
      folder.run({"records", "convert", "all", "--to", "journal", "--output", "j", "--json"});
  CHECK(converted.json()["num_records"] == 3);
  CHECK(folder.run({"records", "convert", "j", "--output", "back"}).code == 0);
  CHECK(folder.run({"records", "best", "back", "--key", key, "--json"}).json()["seconds"] ==
        0.00012);
}

TEST_CASE("wrong requests for records are refused in one sentence") {
  CommandFolder folder;
  folder.write("log", slow);
  folder.write("text", "no records\n");
  check_refusal(folder.run({"records"}), "subcommand");
  check_refusal(folder.run({"records", "show"}), "name a file");
  check_refusal(folder.run({"records", "show", "none"}), "none");
  check_refusal(folder.run({"records", "show", "text"}), "holds no records");
  check_refusal(folder.run({"records", "best"}), "name a file of records");
  check_refusal(folder.run({"records", "merge", "log"}), "--output");
  check_refusal(folder.run({"records", "merge", "log", "--output", "text"}), "--force");
  check_refusal(folder.run({"records", "convert", "log", "--to", "x", "--output", "o"}), "--to");
}

namespace {

std::string trial_of(const std::string& target, int threads, const std::string& min_ns,
                     const std::string& steps = "[]") {
  return R"({"v":"tensorsmith-1","workload":"w","key":"[\"k\", 8]","target":")" + target +
         R"(","cpu":"A CPU","threads":)" + std::to_string(threads) +
         R"(,"space":"native","policy":"evolution","seed":1,"round":0,"trial":0,"status":"ok",)" +
         R"("verified":true,"min_ns":)" + min_ns +
         R"(,"median_ns":9.0,"seconds":0.5,"message":"",)" + R"("steps":)" + steps + "}\n";
}

}  // namespace

TEST_CASE("targets never mix: estimates, processors and numbers of threads stay apart") {
  CommandFolder folder;
  const std::string host = trial_of("host", 1, "7.0"), two = trial_of("host", 2, "4.0"),
                    board = trial_of("sim:a100", 1, "1.0"), level = trial_of("x86-64-v3", 1, "6.0");
  folder.write("a", host + board);
  folder.write("b", two + level + trial_of("host", 1, "8.0", R"([["SP",0,0,8,[2],1]])"));
  REQUIRE(folder.run({"records", "merge", "a", "b", "--best", "--output", "best"}).code == 0);
  CHECK(folder.read("best") == host + board + two + level);  // journals stay journals
  REQUIRE(folder.run({"records", "convert", "best", "--output", "log"}).code == 0);
  const std::string log = folder.read("log");
  CHECK(log.find("llvm -keys=cpu -model=A-CPU\", [1, ") != std::string::npos);
  CHECK(log.find("llvm -keys=cpu -model=A-CPU\", [2, ") != std::string::npos);
  CHECK(log.find("llvm -keys=cpu -mcpu=x86-64-v3") != std::string::npos);
  CHECK(log.find("-model=sim:a100") != std::string::npos);
  CHECK(log.find("-mcpu=host") == std::string::npos);
  CHECK(log.find("-mcpu=sim") == std::string::npos);
  REQUIRE(folder.run({"records", "merge", "log", "--best", "--output", "again"}).code == 0);
  CHECK(folder.read("again") == log);
  const CommandResult any = folder.run({"records", "best", "log", "--key", "[\"k\", 8]"});
  CHECK(any.code == 0);
  CHECK(any.err.find("--target asks for") != std::string::npos);
  CHECK(folder
            .run({"records", "best", "log", "--key", "[\"k\", 8]", "--target",
                  "llvm -keys=cpu -mcpu=x86-64-v3 -model=none", "--json"})
            .json()["seconds"] != 1e-9);
}

TEST_CASE("a log is the same behind a journal, and a summary says what a format cannot hold") {
  CommandFolder folder;
  const std::string rich =
      R"({"i": [["[\"f\", 8, true]", "cuda -keys=cuda,gpu", [-1, 16, 64, 49152, 2147483647, )"
      R"(1024, 8, 32], "llvm", 2, ["p0", "p1"]], [[], [["FU", 0, [0, 1]]]]], "r": [[0.25, 0.5, )"
      R"(0.125], 0, 4.5, 1710123022], "v": "v0.6", "extra": {"a": [1, 2]}})"
      "\n";
  folder.write("log", "\xEF\xBB\xBF" + rich + slow + failed);
  REQUIRE(folder.run({"records", "convert", "log", "--to", "journal", "--output", "j"}).code == 0);
  REQUIRE(folder.run({"records", "convert", "j", "--output", "back"}).code == 0);
  CHECK(folder.read("back") == rich + slow + failed);

  std::string own;
  for (int i = 0; i < 40; ++i) {
    own += trial_of("host", 1, "5.0", R"([["SP",0,0,8,[2],1],["PR",0,0,"stream_result"]])");
  }
  folder.write("own", own + trial_of("host", 1, "5.0"));
  const CommandResult result = folder.run({"records", "convert", "own", "--output", "o", "--json"});
  CAPTURE(result.err);
  CHECK(result.json()["num_records"] == 1);
  CHECK(result.json()["num_left_out"] == 40);
  CHECK(lines_of(result.err).size() == 1);
  CHECK(result.err.find("left out 40 of 41 records: ") != std::string::npos);
}
