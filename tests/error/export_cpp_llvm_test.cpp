// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// tensorsmith export for this CPU: its files compile as the command says, and their check passes.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

/// Runs the command behind "check: " in the folder of the files, with another compiler in place of
/// c++; warnings are errors.
int run_check(const CommandFolder& folder, const std::string& output,
              const std::string& compiler = "c++") {
  const std::string mark = "check: c++ ";
  const std::size_t at = output.find(mark);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + mark.size();
  const std::string check =
      compiler + " -Wall -Wextra -Werror " + output.substr(from, output.find('\n', from) - from);
  const std::string command = "cd '" + folder.path("out") + "' && (" + check + ") >../checked 2>&1";
  return std::system(command.c_str());
}

}  // namespace

TEST_CASE("the check of exported C++ compiles, passes, and fails for a wrong kernel") {
  for (const char* workload :
       {"gemm:6x20x7", "gemm:9x33x8:f32,bias,relu,packed", "gemm:4x8x16:i8", "softmax:3x20:f64",
        "gemm:6x20x7:f16", "gemm:5x16x24:bf16,bias,relu", "argmax:5x30:i8",
        "gather:5x9x12:bf16,indices=i64", "max_pool:n=1,c=8,h=6,w=6,k=3,s=2,p=1"}) {
    CommandFolder folder;
    const CommandResult tuned = folder.run({"tune", workload, "--trials", "2", "--db", "journal"});
    const CommandResult exported = folder.run(
        {"export", workload, "--db", "journal", "--output", folder.path("out"), "--name", "it"});
    CAPTURE(workload, tuned.err, exported.out, exported.err);
    REQUIRE(tuned.code == 0);
    REQUIRE(exported.code == 0);
    const bool has_clang = std::system("command -v clang++ >/dev/null") == 0;
    for (const char* compiler : {"c++", "clang++"}) {
      if (compiler == std::string("c++") || has_clang) {
        const int code = run_check(folder, exported.out, compiler);
        CAPTURE(compiler, folder.read("checked"));
        CHECK(code == 0);
        CHECK(folder.read("checked").find("ok") != std::string::npos);
      }
    }
  }
  CommandFolder folder;
  const CommandResult exported = folder.run({"export", "gemm:6x20x7", "--untuned", "--portable",
                                             "--output", folder.path("out"), "--name", "it"});
  REQUIRE(exported.code == 0);
  std::string kernel = read_text(folder.path("out") + "/it.cpp");
  const std::size_t last = kernel.rfind("}");
  REQUIRE(last != std::string::npos);
  kernel.insert(last, "C[119] = C[119] + 1;\n");
  write_text(folder.path("out") + "/it.cpp", kernel);
  CHECK(run_check(folder, exported.out) != 0);
  CHECK(folder.read("checked").find("1 wrong elements") != std::string::npos);
}

TEST_CASE("the check wants infinities where they are expected") {
  CommandFolder folder;
  const CommandResult exported = folder.run({"export", "gemm:6x20x7", "--untuned", "--portable",
                                             "--output", folder.path("out"), "--name", "it"});
  REQUIRE(exported.code == 0);
  for (const char* wrong : {"C[3] = HUGE_VALF;\n", "C[3] = NAN;\n"}) {
    const std::string kernel = read_text(folder.path("out") + "/it.cpp");
    std::string changed = kernel;
    changed.insert(changed.rfind("}"), wrong);
    write_text(folder.path("out") + "/it.cpp", changed);
    CHECK(run_check(folder, exported.out) != 0);
    CHECK(folder.read("checked").find("1 wrong elements") != std::string::npos);
    write_text(folder.path("out") + "/it.cpp", kernel);
  }
}

TEST_CASE("names that would not compile are refused, others do") {
  CommandFolder folder;
  const auto named = [&](const std::string& name) {
    return folder.run(
        {"export", "gemm:4x8x4", "--untuned", "--output", "out", "--force", "--name", name});
  };
  for (const char* wrong :
       {"int",       "main",     "class",     "restrict",  "constinit", "co_await",
        "_kernel",   "a__b",     "_Kernel",   "exp",       "expf",      "powl",
        "memcpy",    "printf",   "abs",       "y0",        "gamma",     "size_t",
        "int32_t",   "NULL",     "INT32_MAX", "M_PI",      "std",       "linux",
        "floor_div", "from_f16", "wrap_add",  "threadIdx", "float4",    "tensorsmith_check",
        "",          "1x",       "a-b",       "a b",       "\xC3\xA4"}) {
    CAPTURE(wrong);
    check_refusal(named(wrong), "--name");
  }
  check_refusal(named(std::string(5000, 'a')), "... (5000 bytes)");
  CHECK_FALSE(std::filesystem::exists(folder.path("out")));
  // What the text of the check has in its own functions, and letters of arguments.
  for (const char* good : {"check", "a0", "C"}) {
    CAPTURE(good);
    const CommandResult exported = named(good);
    REQUIRE(exported.code == 0);
    CHECK(run_check(folder, exported.out) == 0);
    std::filesystem::remove_all(folder.path("out"));
  }
}

TEST_CASE("what an export makes is said, every folder of it") {
  CommandFolder folder;
  const std::vector<std::string> command = {"export", "gemm:4x8x4", "--output",
                                            "a/b/c/", "--force",    "--untuned"};
  const CommandResult made = folder.run(command);
  REQUIRE(made.code == 0);
  const std::vector<std::string> lines = lines_of(made.out);
  REQUIRE(lines.size() > 3);
  CHECK(lines[0] == "made the folder " + folder.path("a"));
  CHECK(lines[1] == "made the folder " + folder.path("a/b"));
  CHECK(lines[2] == "made the folder " + folder.path("a/b/c"));
  for (const std::string& line : lines) {
    if (line.rfind("a/b/c/", 0) == 0) {
      CHECK(std::filesystem::exists(folder.path(line)));
    }
  }
  CHECK(folder.run(command).out.find("made the folder") == std::string::npos);
  std::vector<std::string> with_json = command;
  with_json[3] = "d";
  with_json.push_back("--json");
  CHECK(folder.run(with_json).json()["made_folders"] == nlohmann::json::array({folder.path("d")}));
  folder.write("file", "");
  check_refusal(folder.run({"export", "gemm:4x8x4", "--untuned", "--output", "file/sub"}),
                "file/sub");
}

TEST_CASE("what nobody has tuned is exported only if that is wanted, and says what it is") {
  CommandFolder folder;
  const std::string alone = "export XDG_CACHE_HOME=" + folder.path("cache") + ";";
  const std::vector<std::string> command = {"export", "gemm:4x8x4", "--output", "out"};
  const CommandResult refused = folder.run(command, alone);
  check_refusal(refused, "run tensorsmith tune gemm:4x8x4 first, or export it with --untuned");
  CHECK_FALSE(std::filesystem::exists(folder.path("out")));
  std::vector<std::string> wanted = command;
  wanted.push_back("--untuned");
  const CommandResult plain = folder.run(wanted, alone);
  CHECK(plain.code == 0);
  CHECK(plain.err.find("nothing was tuned: this is the program as written") != std::string::npos);
}
