// requires: cli11 fmt json
// tensorsmith export for this CPU: its files compile as the command says, and their check passes.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

/// Runs the command behind "check: " in the folder of the files.
int run_check(const CommandFolder& folder, const std::string& output) {
  const std::string mark = "check: ";
  const std::size_t at = output.find(mark);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + mark.size();
  const std::string check = output.substr(from, output.find('\n', from) - from);
  const std::string command = "cd '" + folder.path("out") + "' && (" + check + ") >../checked 2>&1";
  return std::system(command.c_str());
}

}  // namespace

TEST_CASE("the check of exported C++ compiles, passes, and fails for a wrong kernel") {
  for (const char* workload :
       {"gemm:6x20x7", "gemm:9x33x8:f32,bias,relu,packed", "gemm:4x8x16:i8", "softmax:3x20:f64"}) {
    CommandFolder folder;
    const CommandResult tuned = folder.run({"tune", workload, "--trials", "2", "--db", "journal"});
    const CommandResult exported = folder.run(
        {"export", workload, "--db", "journal", "--output", folder.path("out"), "--name", "it"});
    CAPTURE(workload, tuned.err, exported.out, exported.err);
    REQUIRE(tuned.code == 0);
    REQUIRE(exported.code == 0);
    const int code = run_check(folder, exported.out);
    CAPTURE(folder.read("checked"));
    CHECK(code == 0);
    CHECK(folder.read("checked").find("ok") != std::string::npos);
  }
  CommandFolder folder;
  const CommandResult exported =
      folder.run({"export", "gemm:6x20x7", "--output", folder.path("out"), "--name", "it"});
  REQUIRE(exported.code == 0);
  std::string kernel = read_text(folder.path("out") + "/it.cpp");
  const std::size_t last = kernel.rfind("}");
  REQUIRE(last != std::string::npos);
  kernel.insert(last, "C[119] = C[119] + 1;\n");
  write_text(folder.path("out") + "/it.cpp", kernel);
  CHECK(run_check(folder, exported.out) != 0);
  CHECK(folder.read("checked").find("1 wrong elements") != std::string::npos);
}
