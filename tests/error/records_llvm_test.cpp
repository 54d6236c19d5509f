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
  check_refusal(folder.run({"records", "best", "log"}), "--key");
  check_refusal(folder.run({"records", "merge", "log"}), "--output");
  check_refusal(folder.run({"records", "merge", "log", "--output", "text"}), "--force");
  check_refusal(folder.run({"records", "convert", "log", "--to", "x", "--output", "o"}), "--to");
}
