// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// Files that are none, are too large, are read and written at once, or hold what no search makes.
#include <sys/stat.h>

#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

constexpr const char* small_product = "gemm:12x20x28:f32";

void tune_into(CommandFolder& folder, const char* journal) {
  REQUIRE(folder.run({"tune", small_product, "--trials", "2", "--db", journal, "--quiet"}).code ==
          0);
}

}  // namespace

TEST_CASE("what is no regular file is refused at once by every reader") {
  CommandFolder folder;
  tune_into(folder, "j");
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(folder.path("folder"));
  for (const char* special : {"pipe", "folder", "/dev/zero", "/dev/random"}) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"records", "show", special},
             {"records", "best", special, "--key", "k"},
             {"records", "merge", "j", special, "--output", "out"},
             {"records", "convert", special, "--output", "out"},
             {"report", "--db", special, "--output", "out"},
             {"report", "--db", "j", "--compare", special, "--output", "out"},
             {"explain", small_product, "--db", special},
             {"run", small_product, "--db", special},
             {"export", small_product, "--db", special, "--output", "out"},
             {"tune", small_product, "--trials", "1", "--db", special},
             {"tune", "--tasks", special, "--trials", "4"}}) {
      CAPTURE(special, command);
      const CommandResult result = folder.run(command);
      check_refusal(result, "not a regular file");
      CHECK(result.peak_bytes < std::int64_t{1} << 30);
      CHECK_FALSE(std::filesystem::exists(folder.path("out")));
    }
  }
}

TEST_CASE("an output that is an input is refused, by whatever name, and nothing is changed") {
  CommandFolder folder;
  tune_into(folder, "j");
  const std::string journal = folder.read("j");
  std::filesystem::create_symlink("j", folder.path("link"));
  std::filesystem::create_hard_link(folder.path("j"), folder.path("hard"));
  std::filesystem::create_directory(folder.path("out"));
  std::filesystem::create_symlink("../j", folder.path("out/kernel.cpp"));
  folder.write("compare.json", R"({"cases": []})");
  for (const char* name : {"j", "./j", "link", "hard"}) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"report", "--db", "j", "--output", name},
             {"tune", small_product, "--trials", "1", "--db", "j", "--report", name},
             {"records", "convert", "j", "--force", "--output", name},
             {"records", "merge", "compare.json", "j", "--force", "--output", name},
             {"records", "merge", "j", "j", "--to", "v0.6", "--force", "--output", name}}) {
      CAPTURE(name, command);
      const CommandResult result = folder.run(command);
      CHECK(result.code == 2);
      CHECK(result.out.empty());
      CHECK(folder.read("j") == journal);
    }
  }
  check_refusal(folder.run({"report", "--db", "j", "--output", "hard"}), "is a file that is read");
  check_refusal(
      folder.run({"report", "--db", "j", "--compare", "compare.json", "--output", "compare.json"}),
      "is a file that is read");
  check_refusal(folder.run({"export", small_product, "--db", "j", "--output", "out", "--force"}),
                "is a file that is read");
  check_refusal(
      folder.run({"tune", small_product, "--trials", "1", "--db", "new", "--report", "new"}),
      "is a file that is read");
  CHECK(folder.read("j") == journal);
}

TEST_CASE("schedules of more steps or loops than any search makes are refused in words") {
  CommandFolder folder;
  tune_into(folder, "j");
  const std::string line = lines_of(folder.read("j")).front();
  const auto with_steps = [&](const std::string& step, int count) {
    std::string steps;
    for (int i = 0; i < count; ++i) {
      steps += (i == 0 ? "" : ",") + step;
    }
    nlohmann::json record = nlohmann::json::parse(line);
    record["steps"] = nlohmann::json::parse("[" + steps + "]");
    folder.write("nested", record.dump() + "\n");
  };
  std::string ones = "1";
  for (int i = 1; i < 100; ++i) {
    ones += ",1";
  }
  with_steps("[\"SP\",2,0,12,[1],1]", 10'000);
  check_refusal(folder.run({"explain", small_product, "--db", "nested"}),
                "more than 1000 steps of stage 2");
  check_refusal(folder.run({"report", "--db", "nested", "--output", "r"}), "more than 1000");
  with_steps("[\"SP\",2,0,12,[" + ones + "],1]", 500);
  check_refusal(folder.run({"explain", small_product, "--db", "nested"}),
                "makes more than 2000 loops");
  const CommandResult report = folder.run({"report", "--db", "nested", "--output", "r"});
  CHECK(report.code == 0);
  CHECK(folder.read("r").find("makes more than 2000 loops") != std::string::npos);
  with_steps("[\"SP\",2,0,12,[1],1]", 1000);
  CHECK(folder.run({"explain", small_product, "--db", "nested"}).code == 0);
}

TEST_CASE("no message echoes input of any length") {
  CommandFolder folder;
  const std::string large(100'000, 'x');
  folder.write("record", "{\"v\": \"" + large + "\"}\n");
  folder.write("log", "{\"i\": [[\"k\", \"llvm\"], [[], [[\"" + large +
                          "\"]]]], \"r\": [[1], 0, 1, 1]}\n");
  folder.write("tasks", large + "\n");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {large},
           {"tune", large, "--trials", "1"},
           {"tune", "gemm:" + large, "--trials", "1"},
           {"tune", "gemm:8x8x8:" + large, "--trials", "1"},
           {"tune", small_product, "--target", large},
           {"tune", small_product, "--space", large},
           {"tune", small_product, "--policy", large},
           {"tune", small_product, "--param", large},
           {"tune", small_product, "--" + large},
           {"tune", small_product, "--threads", large},
           {"tune", "--tasks", "tasks", "--trials", "4"},
           {"explain", small_product, "--db", "record"},
           {"records", "show", "log"},
           {"records", "best", "log", "--key", large},
           {"records", "convert", "log", "--to", large, "--output", "o"},
           {"export", small_product, "--name", large}}) {
    CAPTURE(command[0]);
    const CommandResult result = folder.run(command);
    CAPTURE(result.err.substr(0, 1000));
    CHECK(result.code == 2);
    CHECK(result.err.size() < 5000);
    CHECK(lines_of(result.err).size() == 1);
  }
}
