// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// Workloads with a range of rows: tuned, exported, refused.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

TEST_CASE("a range of rows is tuned and exported as one function") {
  for (const char* workload :
       {"gemm:1..9x20x7:f32,bias", "D[i:2..7,j:12] = exp(A[i,j])*B[j]", "softmax:3..5x20:f16"}) {
    CommandFolder folder;
    const CommandResult tuned =
        folder.run({"tune", workload, "--trials", "128", "--db", "journal", "--json"});
    CAPTURE(workload, tuned.err);
    REQUIRE(tuned.code == 0);
    const nlohmann::json json = tuned.json();
    REQUIRE(json.contains("kernels"));
    CHECK(json["kernels"].size() >= 1);
    for (const auto& kernel : json["kernels"]) {
      CHECK(kernel["verified"] == true);
    }
    CHECK(json["plan"].size() == static_cast<std::size_t>(workload[0] == 'g'   ? 9
                                                          : workload[0] == 'D' ? 6
                                                                               : 3));
    const CommandResult exported = folder.run(
        {"export", workload, "--db", "journal", "--output", folder.path("out"), "--name", "it"});
    CAPTURE(exported.err);
    REQUIRE(exported.code == 0);
    const std::string mark = "check: c++ ";
    const std::size_t at = exported.out.find(mark);
    REQUIRE(at != std::string::npos);
    const std::size_t from = at + mark.size();
    const std::string check = exported.out.substr(from, exported.out.find('\n', from) - from);
    const bool has_clang = std::system("command -v clang++ >/dev/null") == 0;
    for (const std::string compiler : {"c++", "clang++"}) {
      if (compiler == "c++" || has_clang) {
        const std::string command = "cd '" + folder.path("out") + "' && (" + compiler +
                                    " -Wall -Wextra -Werror " + check + ") >../checked 2>&1";
        const int code = std::system(command.c_str());
        CAPTURE(compiler, folder.read("checked"));
        CHECK(code == 0);
        CHECK(folder.read("checked").find("ok") != std::string::npos);
      }
    }
  }
}

TEST_CASE("ranges that are none are refused") {
  CommandFolder folder;
  check_refused(folder.run({"tune", "gemm:8..4x8x8:f32", "--trials", "1"}),
                "expected 1 <= first <= last");
  check_refused(folder.run({"tune", "gemm:1..4x1..8x8:f32", "--trials", "1"}), "one range of rows");
  check_refused(folder.run({"tune", "gemm:4x1..8x8:f32", "--trials", "1"}),
                "its rows cannot be computed in parts");
  check_refused(folder.run({"tune", "gemm:1..99999999999999999999x8x8:f32", "--trials", "1"}),
                "too large");
  check_refused(folder.run({"tune", "nothing:1..4x8", "--trials", "1"}), "nothing");
  check_refused(folder.run({"export", "gemm:1..4x8x8:f32", "--db", "none", "--name", "it"}),
                "there is no journal");
  check_refused(folder.run({"export", "gemm:1..4x8x8:f32", "--untuned", "--name", "it"}),
                "--untuned is for one workload");
  check_refused(folder.run({"run", "gemm:1..4x8x8:f32", "--db", "none"}), "1..4");
}

TEST_CASE("a report shows the kernels of a range") {
  CommandFolder folder;
  const CommandResult tuned =
      folder.run({"tune", "softmax:1..3x20", "--trials", "64", "--db", "journal", "--quiet"});
  CAPTURE(tuned.err);
  REQUIRE(tuned.code == 0);
  const CommandResult report =
      folder.run({"report", "softmax:1..3x20", "--db", "journal", "--output", "page.html"});
  CAPTURE(report.err);
  CHECK(report.code == 0);
  CHECK(folder.read("page.html").find("softmax:3x20") != std::string::npos);
}
