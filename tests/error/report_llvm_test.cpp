// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// The report page: from real trials to a file, and every wrong way to ask for one.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

constexpr const char* workload = "gemm:12x20x28:f32";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a page is written after a run and again from its journal") {
  CommandFolder folder;
  const nlohmann::json tuned = folder
                                   .run({"tune", workload, "--trials", "4", "--db", "j", "--json",
                                         "--quiet", "--report", "first.html"})
                                   .json();
  REQUIRE(tuned.is_object());
  CHECK(tuned["report"] == "first.html");
  const CommandResult again =
      folder.run({"report", workload, "--db", "j", "--output", "second.html", "--json"});
  CAPTURE(again.out, again.err);
  CHECK(again.code == 0);
  CHECK(again.json()["workloads"][0]["trials"] == tuned["trials"]);
  const std::string page = folder.read("first.html");
  CHECK(page == folder.read("second.html"));
  CHECK(has(page, workload));
  CHECK(has(page, "verified"));
  CHECK(has(page, "<svg"));
  CHECK(has(page, "Placeholder: "));
  CHECK(has(page, "loops: what is compiled"));
  CHECK(has(page, "steps: what the journal keeps"));
}

TEST_CASE("a page with the ratios that a benchmark found") {
  CommandFolder folder;
  REQUIRE(folder.run({"tune", workload, "--trials", "2", "--db", "j", "--quiet"}).code == 0);
  folder.write("compare.json", R"({"cases": [
    {"workload": "gemm:12x20x28", "class": "a", "threads": 1, "ours_gflops": 50.0,
     "verified": true, "peers": {"somelib": {"gflops": 25.0, "ratio": 2.0, "impl": "x"}},
     "left_out": {"otherlib": "not installed"}},
    {"workload": "gemm:1x1x1:f32", "threads": 1, "ours_gflops": null, "peers": {},
     "verified": false}]})");
  const CommandResult result =
      folder.run({"report", "--db", "j", "--compare", "compare.json", "--output", "r.html"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  const std::string page = folder.read("r.html");
  CHECK(has(page, "somelib"));
  CHECK(has(page, "2.00"));
  CHECK(has(page, "left out: not installed"));
}

TEST_CASE("a file that is called as a workload is, is not in the way of its journal") {
  CommandFolder folder;
  REQUIRE(folder.run({"tune", workload, "--trials", "2", "--quiet"}).code == 0);
  folder.write(workload, "");
  CHECK(folder.run({"report", workload, "--output", "r.html"}).code == 0);
  CHECK(has(folder.read("r.html"), workload));
}

TEST_CASE("a report that cannot be made is one sentence and leaves every file alone") {
  CommandFolder folder;
  REQUIRE(folder.run({"tune", workload, "--trials", "2", "--db", "j", "--quiet"}).code == 0);
  folder.write("old.html", "kept");
  folder.write("not.json", "{");
  folder.write("other.json", R"({"cases": [{"workload": "gemm:12x20x28"}]})");
  const std::string journal = folder.read("j");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--db", "missing"},
                                             {"--db", "not.json"},
                                             {"--db", "j", "gemm:9x9x9:f32"},
                                             {"--db", "j", "--compare", "missing"},
                                             {"--db", "j", "--compare", "not.json"},
                                             {"--db", "j", "--compare", "other.json"},
                                             {},
                                             {"--bogus"}}) {
    std::vector<std::string> command{"report", "--output", "old.html"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    CAPTURE(command);
    check_refusal(folder.run(command), "");
  }
  check_refusal(folder.run({"report", "j", "--output", "old.html"}), "is a file and no workload");
  CHECK(folder.run({"report", "--db", "j", "--output", "no/such/folder"}).code == 2);
  CHECK(folder.run({"tune", workload, "--trials", "1", "--db", "j", "--report", "no/such/folder"})
            .code == 2);
  CHECK(folder.read("old.html") == "kept");
  CHECK(folder.read("j") == journal);
}
