// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// Whatever is wrong on the command line or in the environment: one sentence, exit code 2, nothing
// on standard output.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

struct WrongInput {
  std::vector<std::string> arguments;
  const char* sentence;  ///< a part of it
};

void check_all(const std::vector<WrongInput>& inputs) {
  CommandFolder folder;
  for (const WrongInput& input : inputs) {
    std::string line;
    for (const std::string& argument : input.arguments) {
      line += argument + " ";
    }
    CAPTURE(line);
    check_refusal(folder.run(input.arguments), input.sentence);
    std::vector<std::string> with_json = input.arguments;
    with_json.push_back("--json");
    check_refusal(folder.run(with_json), "");
  }
}

}  // namespace

TEST_CASE("wrong commands") {
  check_all({{{}, "name a command: tune"},
             {{"bogus"}, "unknown command \"bogus\"; known: tune"},
             {{"tune"}, "--list shows all"},
             {{"run"}, "name a workload"},
             {{"export"}, "name a workload"},
             {{"explain"}, "name a workload"},
             {{"devices", "extra"}, "extra"},
             {{"tune", "gemm:8x8x8:f32", "--bogus"}, "--bogus"},
             {{"tune", "gemm:8x8x8:f32", "gemm:9x9x9:f32"}, "gemm:9x9x9:f32"}});
}

TEST_CASE("wrong workloads") {
  const std::vector<std::pair<const char*, const char*>> texts = {
      {"gem:1x1x1", "expected one of gemm"},
      {"gemm", "expected sizes"},
      {"gemm:", "expected sizes"},
      {"gemm:5x5:f32", "expected MxNxK"},
      {"gemm:5x5x5x5:f32", "expected MxNxK"},
      {"gemm:0x5x5:f32", "got 0"},
      {"gemm:-1x5x5:f32", "got \"-1\""},
      {"gemm:1099511627776x5x5:f32", "at most 2147483647"},
      {"gemm:99999999999999999999999x5x5:f32", "at most 2147483647"},
      {"gemm:2147483647x2147483647x2147483647:f32", "fewer than 2^60 elements"},
      {"gemm:200000000x200000000x4:f32", "GiB"},
      {"gemm:5x5x5:q4", "expected a type"},
      {"gemm:5x5x5:f32,ta,ta", "twice"},
      {"gemm:5x5x5:f32,relu,gelu", "at most one"},
      {"gemm:5x5x5:f32,", "expected flags"},
      {"gemm:5x5x5:f32\nsecond line", "f32\\nsecond line"},
      {"gemm:\x1b[31m", "\\x1b[31m"},
      {"gemm:\xff\xfe", "expected MxNxK"},
      {"conv2d:n=1", "\"h=\""},
      {"conv2d:n=1,h=3,w=3,ci=1,co=1,k=9", "not empty"},
      {"conv2d:n=1,h=3,w=3,ci=1,co=1,k=1,s=0", "positive whole number for s"},
      {"conv2d:n=1,h=3,w=3,ci=1,co=1,k=1,p=-1", "for p"},
      {"conv2d:n=1,h=3,w=3,ci=5,co=1,k=1,groups=2", "groups that divide"},
      {"conv2d:n=1,h=3,w=3,ci=5,co=1,k=1,p=2147483647", "2147483647"},
      {"conv2d:n=1,h=3,w=3,ci=5,co=1,k=1,layout=round", "layout=nchw"},
      {"softmax:0x10", "positive whole number for R"},
      {"softmax:2147483647x2147483647", "fewer than 2^60 elements"},
  };
  std::vector<WrongInput> inputs;
  for (const auto& [text, sentence] : texts) {
    inputs.push_back({{"tune", text, "--trials", "1"}, sentence});
  }
  inputs.push_back({{"run", "gem:1x1x1"}, "expected one of gemm"});
  inputs.push_back({{"export", "gem:1x1x1"}, "expected one of gemm"});
  inputs.push_back({{"explain", "gem:1x1x1"}, "expected one of gemm"});
  check_all(inputs);
}

TEST_CASE("wrong option values") {
  std::vector<WrongInput> inputs;
  const auto add = [&inputs](const char* option, const char* value, const char* sentence) {
    inputs.push_back({{"tune", "gemm:8x8x8:f32", option, value}, sentence});
  };
  for (const char* value : {"0", "-1", "1025", "abc", "1.5", "", "0x2", "99999999999999999999"}) {
    add("--threads", value, "--threads: expected a whole number from 1 to 1024");
  }
  for (const char* value : {"0", "-1", "nan", "inf", "1e400", "abc", "1s"}) {
    add("--seconds", value, "--seconds: expected a number from 0.01 to 10000000");
  }
  for (const char* value : {"-5", "1.5", "abc", "99999999999999999999"}) {
    add("--trials", value, "--trials: expected a whole number from 0 to 1099511627776");
  }
  for (const char* value : {"-1", "abc", "18446744073709551616"}) {
    add("--seed", value, "--seed: expected a whole number from 0 to 18446744073709551615");
  }
  add("--policy", "luck",
      "unknown policy \"luck\"; known: evolution, ansor, pruner, pruner-offline, felix");
  add("--param", "eps_greedy", "--param: expected NAME=VALUE, got \"eps_greedy\"");
  add("--param", "eps_greedy=2", "eps_greedy: expected a number in 0..1, got \"2\"");
  add("--param", "luck=1", "unknown search parameter \"luck\"; known: eps_greedy, ");
  add("--random", "dice", "unknown random numbers \"dice\"; known: counter, reference");
  add("--early-stopping", "-1", "--early-stopping: expected a whole number");
  add("--task-early-stopping", "x", "--task-early-stopping: expected a whole number");
  add("--timing", "sundial", "unknown timing \"sundial\"; known: racing, reference");
  add("--tasks", "none.txt", "leave the workload argument");
  add("--space", "outer", "unknown space \"outer\"; known: ");
  add("--model", "oracle", "unknown cost model \"oracle\"; known: ");
  add("--target", "pdp11", "unknown target \"pdp11\"; known: ");
  add("--target", "", "unknown target \"\"; known: ");
  add("--target", "sm_80", "GPU");
  inputs.push_back({{"tune", "gemm:8x8x8:f32", "--trials"}, "--trials"});
  inputs.push_back({{"tune", "gemm:8x8x8:f32", "--trials", "0", "--seconds", "1"}, "leave one"});
  inputs.push_back({{"tune", "gemm:8x8x8:f32", "--trials", "0", "--space", "ansor"}, "native"});
  inputs.push_back({{"tune", "gemm:8x8x8:f32", "--trials", "1", "--trials", "2"}, "--trials"});
  check_all(inputs);
}

TEST_CASE("wrong files of tasks: the line is named") {
  CommandFolder folder;
  const auto refused = [&](const std::string& text, const std::string& sentence) {
    CAPTURE(text);
    folder.write("tasks", text);
    check_refusal(folder.run({"tune", "--tasks", "tasks", "--trials", "4"}), sentence);
  };
  refused("", "there are no tasks in \"tasks\"");
  refused("# nothing\n\n  \n", "there are no tasks in \"tasks\"");
  refused("gemm:8x8x8:f32\ngem:1x1x1\n", "tasks:2: ");
  refused("gemm:8x8x8:f32 0\n", "tasks:1: expected a weight above 0");
  refused("gemm:8x8x8:f32 2 3\n", "tasks:1: expected a weight above 0");
  refused("gemm:8x8x8:f32 nan\n", "tasks:1: expected a weight above 0");
  refused("gemm:8x8x8:f32\ngemm:8x8x9:f32\ngemm:8x9x8:f32\ngemm:9x8x8:f32\ngemm:9x9x8:f32\n",
          "at least one trial per task");
  check_refusal(folder.run({"tune", "--tasks", "none", "--trials", "4"}), "cannot read \"none\"");
  folder.write("tasks", "gemm:8x8x8:f32\n");
  check_refusal(folder.run({"tune", "--tasks", "tasks", "--strategy", "luck"}),
                "unknown strategy \"luck\"; known: gradient, round-robin, fastest");
  check_refusal(folder.run({"tune", "--tasks", "tasks", "--trials", "0"}), "expected a budget");
}

TEST_CASE("a garbage environment is survived or explained") {
  CommandFolder folder;
  const std::vector<std::string> tune = {"tune", "gemm:8x8x8:f32", "--trials",
                                         "1",    "--json",         "--quiet"};
  check_refusal(folder.run(tune, "export XDG_CACHE_HOME=/dev/null;"),
                "cannot make the folder \"/dev/null/");
  check_refusal(folder.run(tune, "unset XDG_CACHE_HOME HOME;"), "name a journal with --db FILE");
  check_refusal(folder.run(tune, "export XDG_CACHE_HOME=relative HOME=;"),
                "name a journal with --db FILE");
  check_refusal(folder.run({"run", "gemm:8x8x8:f32"}, "unset XDG_CACHE_HOME HOME;"),
                "name a journal with --db FILE");
  check_refusal(folder.run(tune, "export TENSORSMITH_WORKER=/no;"),
                "cannot execute the worker program '/no'");
  for (const char* shell :
       {"export LC_ALL=xx LANG=de_DE.UTF-8 COLUMNS=-1 TERM=;", "export PATH=:::/no;",
        "export OPENBLAS_CORETYPE=garbage OMP_NUM_THREADS=x TENSORSMITH_WORKER=;"}) {
    CAPTURE(shell);
    const CommandResult result = folder.run(tune, shell);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(result.json()["trials"] == 1);
  }
}

TEST_CASE("closed and full outputs are noticed, and no journal takes their place") {
  CommandFolder folder;
  const std::vector<std::string> tune = {"tune",   "gemm:8x8x8:f32", "--trials", "2",
                                         "--json", "--db",           "j"};
  const auto journal_is_whole = [&folder] {
    const std::vector<std::string> lines = lines_of(folder.read("j"));
    return lines.size() == 3 && std::all_of(lines.begin(), lines.end(), [](const auto& line) {
             return nlohmann::json::parse(line, nullptr, false).is_object();
           });
  };
  const std::vector<std::pair<const char*, int>> cases = {
      {">&-", 1}, {"2>&-", 0}, {">&- 2>&- <&-", 1}, {">/dev/full", 1}, {"2>/dev/full", 0}};
  for (const auto& [redirections, code] : cases) {
    CAPTURE(redirections);
    std::filesystem::remove(folder.path("j"));
    const CommandResult result = folder.run(tune, {}, redirections);
    CAPTURE(result.err);
    CHECK(result.code == code);
    CHECK(journal_is_whole());
    CHECK((code == 1 || result.json()["trials"] == 2));
  }
}

TEST_CASE("with --json every command prints one object") {
  CommandFolder folder;
  folder.write("tasks", "gemm:8x8x8:f32 3  # a task\n\ngemm:8x8x9:f32\n");
  const std::vector<std::vector<std::string>> commands = {
      {"devices"},
      {"tune", "--list"},
      {"tune", "gemm:8x8x8:f32", "--trials", "2", "--db", "j"},
      {"tune", "--tasks", "tasks", "--trials", "2", "--db", "t"},
      {"run", "gemm:8x8x8:f32", "--db", "j"},
      {"explain", "gemm:8x8x8:f32", "--db", "j"},
      {"export", "gemm:8x8x8:f32", "--db", "j", "--output", "out"}};
  for (std::vector<std::string> command : commands) {
    CAPTURE(command[0]);
    command.push_back("--json");
    const CommandResult result = folder.run(command);
    CAPTURE(result.out, result.err);
    CHECK(result.code == 0);
    CHECK(result.json().is_object());
    CHECK(lines_of(result.out).size() == 1);
  }
  const CommandResult again = folder.run(commands.back());
  check_refusal(again, "exists; --force replaces it");
}
