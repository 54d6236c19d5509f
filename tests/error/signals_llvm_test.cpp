// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// Deaths and interruptions: no orphan, no lost trial, the best is kept.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

std::vector<std::string> tune(const char* budget, const char* amount) {
  return {"tune", "gemm:64x64x64:f32", budget, amount, "--db", "j", "--json", "--quiet"};
}

/// Whole lines of trials; the line of a winner, which repeats one of them, does not count.
std::vector<std::string> trials_of(const CommandFolder& folder) {
  std::vector<std::string> lines = lines_of(folder.read("j"));
  std::erase_if(lines, [](const std::string& line) {
    return line.rfind("{\"v\":\"tensorsmith-1\"", 0) != 0 || line.back() != '}';
  });
  return lines;
}
std::size_t num_trials(const CommandFolder& folder) { return trials_of(folder).size(); }

/// Waits for some trials; the one worker of the run.
Process worker_after(const CommandFolder& folder, int pid, std::size_t trials) {
  REQUIRE(eventually([&] { return num_trials(folder) >= trials; }));
  std::vector<Process> workers;
  REQUIRE(eventually([&] { return !(workers = workers_of(pid)).empty(); }));
  return workers.front();
}

std::string last_status(const std::string& line) {
  return nlohmann::json::parse(line).at("status").get<std::string>();
}

}  // namespace

TEST_CASE("kill -9 of the tuner leaves no worker and every finished trial") {
  CommandFolder folder;
  const int pid = folder.start(tune("--seconds", "600"));
  (void)worker_after(folder, pid, 20);
  ::kill(pid, SIGKILL);
  const CommandResult killed = folder.wait(pid);
  CHECK(killed.signal == SIGKILL);
  CHECK(killed.out.empty());
  CHECK(eventually([pid] { return workers_of(pid).empty(); }));
  const std::size_t trials = num_trials(folder);
  CHECK(trials >= 20);
  const CommandResult ran = folder.run({"run", "gemm:64x64x64:f32", "--db", "j", "--json"});
  CAPTURE(ran.err);
  CHECK(ran.code == 0);
  CHECK(ran.json()["verified"] == true);
  // The next run goes on in the same file.
  const CommandResult next = folder.run(tune("--trials", "3"));
  CHECK(next.code == 0);
  CHECK(num_trials(folder) >= trials + 3);
}

TEST_CASE("kill -9 of the worker costs no trial, and the record says so") {
  CommandFolder folder;
  const int pid = folder.start(tune("--trials", "400"));
  Process last;
  for (const std::size_t trials : {10, 60, 110}) {
    Process worker;
    REQUIRE(eventually([&] { return (worker = worker_after(folder, pid, trials)) != last; }));
    ::kill(worker.pid, SIGKILL);
    last = worker;
  }
  const CommandResult result = folder.wait(pid);
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.json()["trials"] == 400);
  CHECK(result.json()["verified"] == true);
  CHECK(num_trials(folder) == 400);
  // Each was killed in the middle of one measurement, or between two and found at the next one.
  std::size_t num_noted = 0;
  for (const std::string& line : trials_of(folder)) {
    num_noted += line.find("SIGKILL") != std::string::npos ? 1U : 0U;
  }
  CHECK(num_noted >= 1);
  CHECK(num_noted <= 3);
  CHECK(workers_of(pid).empty());
}

TEST_CASE("without any worker left the run ends by itself and keeps the best") {
  CommandFolder folder;
  const std::string copy = folder.path("bin");
  std::filesystem::create_directory(copy);
  for (const char* program : {"tensorsmith", "tensorsmith-worker"}) {
    std::filesystem::copy_file(std::string(TENSORSMITH_BIN_DIR "/") + program,
                               copy + "/" + program);
  }
  // The shell runs the copy instead, which looks for its worker next to itself.
  const int pid = folder.start({}, "exec '" + copy +
                                       "/tensorsmith' tune gemm:64x64x64:f32 --seconds 600 --db j "
                                       "--json --quiet >stdout 2>stderr;");
  const Process worker = worker_after(folder, pid, 10);
  std::filesystem::remove(copy + "/tensorsmith-worker");
  ::kill(worker.pid, SIGKILL);
  const CommandResult result = folder.wait(pid);
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.json()["best_ns"] > 0);
  CHECK(result.json()["failed"]["worker_lost"] >= 16);
  CHECK(result.json()["failed"]["worker_lost"] < 40);
  CHECK(result.err.find("no worker survives") != std::string::npos);
  const std::vector<std::string> lines = lines_of(folder.read("j"));
  CHECK(lines.size() == result.json()["trials"]);
  CHECK(last_status(lines.back()) == "worker_lost");
}

TEST_CASE("Ctrl-C and a termination request keep the best") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CommandFolder folder;
    const int pid = folder.start(tune("--seconds", "600"));
    (void)worker_after(folder, pid, 10);
    ::kill(pid, signal);
    const CommandResult result = folder.wait(pid);
    CAPTURE(signal, result.err);
    CHECK(result.code == 0);
    CHECK(result.json()["cancelled"] == true);
    CHECK(result.json()["verified"] == true);
    CHECK(result.json()["best_ns"] > 0);
    CHECK(result.json()["trials"] == num_trials(folder));
    CHECK(result.err.find("stopped early, after ") != std::string::npos);
    CHECK(result.err.find("with --resume goes on with this run") != std::string::npos);
    CHECK(workers_of(pid).empty());
  }
}

TEST_CASE("Ctrl-C before there is anything to keep ends at once") {
  CommandFolder folder;
  // A worker that never answers: nothing is measured before the signal.
  const std::string copy = folder.path("bin");
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(TENSORSMITH_BIN_DIR "/tensorsmith", copy + "/tensorsmith");
  write_text(copy + "/tensorsmith-worker", "#!/bin/sh\necho $$ >../started\nexec sleep 600\n");
  std::filesystem::permissions(copy + "/tensorsmith-worker", std::filesystem::perms::owner_all);
  const int pid = folder.start({}, "cd bin; exec ./tensorsmith tune gemm:64x64x64:f32 --seconds "
                                   "600 --db j --json --quiet >../stdout 2>../stderr;");
  REQUIRE(eventually([&] { return !folder.read("started").empty(); }));
  const int worker = std::atoi(folder.read("started").c_str());
  ::kill(pid, SIGINT);
  const CommandResult result = folder.wait(pid);
  ::kill(worker, SIGKILL);  // no worker of ours: it does not know that it should die
  CHECK(result.code == 130);
  CHECK(result.out.empty());
  CHECK(result.err == "tensorsmith: interrupted before the first trial\n");
}
