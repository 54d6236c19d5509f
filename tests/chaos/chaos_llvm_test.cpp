// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json llvm
// Hostile use, drawn by a seed: kills, stopped and starved workers, limits, special files, budgets.
// Nothing measured is lost, nothing wrong is called verified, and everything ends.
#include <set>

#include "error/command_fixture.hpp"
#include "tensorsmith/support/rng.hpp"

#include <sys/stat.h>

using namespace tensorsmith::test;
using tensorsmith::CounterRng;

namespace {

const char* const workloads[] = {"gemm:64x64x64:f32", "softmax:64x100:f32",
                                 "pointwise:99x7:f32,gelu", "reduce_sum:33x77:f32"};

std::vector<std::string> tune(const std::string& workload, const std::string& budget,
                              const std::string& amount) {
  return {"tune", workload, budget, amount, "--db", "j", "--json", "--quiet"};
}

/// Whole lines of trials.
std::vector<std::string> trials_in(const CommandFolder& folder) {
  std::vector<std::string> trials;
  for (const std::string& line : lines_of(folder.read("j"))) {
    if (line.rfind("{\"v\":\"tensorsmith-1\"", 0) == 0 && line.back() == '}') {
      trials.push_back(line);
    }
  }
  return trials;
}

bool has_ended(int pid) {
  siginfo_t info = {};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}
/// Waits until so many trials are in the journal, or the process has ended.
void await_trials(const CommandFolder& folder, int pid, std::size_t count) {
  REQUIRE(eventually([&] { return trials_in(folder).size() >= count || has_ended(pid); }));
}

/// A worker of the process, 0 if it ends without one.
int worker_of(int pid) {
  int worker = 0;
  (void)eventually([&] {
    const std::vector<Process> all = workers_of(pid);
    worker = all.empty() ? 0 : all.front().pid;
    return worker != 0;
  });
  return worker;
}

/// Ends by itself, with a verified result or a reason.
void check_end(const CommandResult& result) {
  CAPTURE(result.code, result.signal, result.out, result.err);
  CHECK(result.signal == 0);
  if (result.code == 0) {
    REQUIRE(result.json().is_object());
    CHECK(result.json()["verified"] == true);
  } else {
    CHECK_FALSE(result.err.empty());
    CHECK(result.err.size() < 4000);
  }
}

/// Processes that want all of the processor; they end with the object.
class BusyLoops {
 public:
  explicit BusyLoops(int count) {
    for (int i = 0; i < count; ++i) {
      const int pid = ::fork();
      if (pid == 0) {
        ::alarm(600);
        for (;;) {
          asm volatile("");
        }
      }
      pids_.push_back(pid);
    }
  }
  ~BusyLoops() {
    for (const int pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  std::vector<int> pids_;
};

}  // namespace

TEST_CASE("killed again and again, a run that goes on loses no trial") {
  const std::uint32_t rounds = std::max<std::uint32_t>(1, scaled(4));
  CounterRng rng(seed(), 70);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    CommandFolder folder;
    const std::string workload = workloads[rng.next_below(4)];
    std::vector<std::string> arguments = tune(workload, "--trials", "60");
    std::vector<std::string> before;
    for (int kill = 0; kill < 3; ++kill) {
      const int pid = folder.start(arguments);
      const std::size_t wanted = before.size() + 1 + rng.next_below(15);
      await_trials(folder, pid, wanted);
      ::kill(pid, SIGKILL);
      (void)folder.wait(pid);
      const std::vector<std::string> now = trials_in(folder);
      REQUIRE(now.size() >= before.size());
      CHECK(std::equal(before.begin(), before.end(), now.begin()));
      before = now;
      arguments = tune(workload, "--trials", "60");
      arguments.push_back("--resume");
    }
    const CommandResult result = folder.run(arguments);
    CAPTURE(workload, result.err);
    check_end(result);
    CHECK(result.json()["trials"].get<std::size_t>() <= 60);
    const std::vector<std::string> all = trials_in(folder);
    REQUIRE(all.size() >= before.size());
    CHECK(std::equal(before.begin(), before.end(), all.begin()));
    CHECK(all.size() == result.json()["trials"].get<std::size_t>());
    // Finished: what is known is neither built nor measured again.
    const CommandResult again = folder.run(arguments);
    check_end(again);
    CHECK(again.json()["trials"] == result.json()["trials"]);
    CHECK(again.json()["compiled"].get<int>() <= 1);
    CHECK(trials_in(folder).size() == all.size());
  }
}

TEST_CASE("workers that are killed, stopped or sent signals cost no trial") {
  const int kinds[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGTERM, SIGUSR1};
  CounterRng rng(seed(), 71);
  CommandFolder folder;
  const int pid = folder.start(tune("gemm:64x64x64:f32", "--trials", "150"));
  for (const int kind : kinds) {
    const std::size_t wanted = trials_in(folder).size() + 1 + rng.next_below(20);
    await_trials(folder, pid, std::min<std::size_t>(wanted, 140));
    if (const int worker = worker_of(pid); worker != 0) {
      ::kill(worker, kind);
    }
  }
  const CommandResult result = folder.wait(pid);
  check_end(result);
  REQUIRE(result.code == 0);
  CHECK(result.json()["trials"] == 150);
  CHECK_FALSE(result.json()["failed"].contains("crashed"));
  CHECK_FALSE(result.json()["failed"].contains("run_timeout"));
  CHECK(trials_in(folder).size() == 150);
}

TEST_CASE("beside busy loops and with the lowest priority good candidates stay good") {
  const BusyLoops loops(static_cast<int>(2 * ::sysconf(_SC_NPROCESSORS_ONLN)));
  CommandFolder folder;
  const CommandResult result = folder.run(tune("gemm:128x128x128:f32", "--trials", "14"),
                                          "renice -n 10 $$ >/dev/null 2>&1;");
  check_end(result);
  REQUIRE(result.code == 0);
  CHECK(result.json()["trials"] == 14);
  CHECK_FALSE(result.json()["failed"].contains("run_timeout"));
}

TEST_CASE("a worker that is stopped whenever it lives does not hold up the end") {
  CommandFolder folder;
  const int pid = folder.start(tune("gemm:64x64x64:f32", "--seconds", "3"));
  await_trials(folder, pid, 1);
  std::set<unsigned long long> stopped;  // by their start
  while (!has_ended(pid)) {
    for (const Process& worker : workers_of(pid)) {
      if (stopped.insert(worker.start_ticks).second) {
        ::kill(worker.pid, SIGSTOP);
      }
    }
    ::usleep(20'000);
  }
  const CommandResult result = folder.wait(pid);
  CAPTURE(result.err, result.out);
  CHECK(result.signal == 0);
  CHECK(result.code == 0);  // what was measured before is the result
  CHECK(result.json()["seconds"].get<double>() < 30);
}

TEST_CASE("a worker that never starts ends the run within its budget") {
  CommandFolder folder;
  const std::string bin = folder.path("bin");
  std::filesystem::create_directory(bin);
  std::filesystem::copy_file(TENSORSMITH_BIN_DIR "/tensorsmith", bin + "/tensorsmith");
  write_text(bin + "/tensorsmith-worker", "#!/bin/sh\nexec sleep 3600\n");
  std::filesystem::permissions(bin + "/tensorsmith-worker", std::filesystem::perms::owner_all);
  // The command's own limit of time stands for a budget that is overrun.
  const int pid = folder.start({}, "exec timeout 100 '" + bin +
                                       "/tensorsmith' tune gemm:64x64x64:f32 --seconds 2 --db j "
                                       "--json --quiet >stdout 2>stderr;");
  const CommandResult result = folder.wait(pid);
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("no hello within") != std::string::npos);
}

TEST_CASE("SIGTERM, SIGHUP and SIGXCPU end as Ctrl-C does: ranking, best, journal") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    CommandFolder folder;
    const int pid = folder.start(tune("gemm:64x64x64:f32", "--seconds", "600"));
    await_trials(folder, pid, 10);
    ::kill(pid, signal);
    const CommandResult result = folder.wait(pid);
    CAPTURE(signal, result.err);
    CHECK(result.code == 0);
    CHECK(result.json()["cancelled"] == true);
    CHECK(result.json()["verified"] == true);
    CHECK(result.json()["best_interval_ns"].is_array());
    CHECK(result.json()["trials"].get<std::size_t>() == trials_in(folder).size());
    CHECK(workers_of(pid).empty());
  }
}

TEST_CASE("a hangup that is ignored stays ignored") {
  CommandFolder folder;
  const int pid = folder.start(tune("gemm:64x64x64:f32", "--trials", "40"), "trap '' HUP;");
  await_trials(folder, pid, 3);
  ::kill(pid, SIGHUP);
  const CommandResult result = folder.wait(pid);
  check_end(result);
  CHECK(result.json()["trials"] == 40);
  CHECK(result.json()["cancelled"] == false);
}

TEST_CASE("limits of files, memory and disk are results or sentences") {
#if defined(TENSORSMITH_HAS_SANITIZER)
  skip("sanitizers need more memory and files than these limits leave");
#else
  const char* const limits[] = {"ulimit -n 16;",     "ulimit -n 20;",     "ulimit -n 28;",
                                "ulimit -v 300000;", "ulimit -v 600000;", "ulimit -v 2000000;",
                                "ulimit -d 100000;", "ulimit -f 16;",     "ulimit -s 512;"};
  for (const char* limit : limits) {
    CommandFolder folder;
    CAPTURE(limit);
    check_end(folder.run(tune("gemm:64x64x64:f32", "--trials", "8"), limit));
  }
  CommandFolder folder;
  const CommandResult small =
      folder.run(tune("gemm:64x64x64:f32", "--trials", "4"), "ulimit -n 16;");
  CHECK(small.err.find("Invalid argument") == std::string::npos);
  const CommandResult short_files =
      folder.run(tune("gemm:64x64x64:f32", "--trials", "4"), "ulimit -f 16;");
  CAPTURE(short_files.err);
  CHECK(short_files.code == 2);
  CHECK(short_files.err.find("(ulimit -f)") != std::string::npos);
  const CommandResult full = folder.run(
      {"tune", "gemm:64x64x64:f32", "--trials", "4", "--db", "/dev/full", "--json", "--quiet"});
  CHECK(full.signal == 0);
  CHECK(full.code != 0);
  const CommandResult huge =
      folder.run({"tune", "argmax:1x2147483647:f32", "--seconds", "1", "--db", "j", "--quiet"},
                 "ulimit -v 4000000;");
  CAPTURE(huge.err);
  CHECK(huge.code == 2);
  CHECK(huge.err.find("GiB of memory") != std::string::npos);
  CHECK(huge.err.find("ulimit -v") != std::string::npos);
#endif
}

TEST_CASE("a limit of processes is a result or a sentence") {
#if defined(TENSORSMITH_HAS_SANITIZER)
  skip("sanitizers have threads of their own");
#else
  // The limit is not for root, who runs the program as somebody else.
  const std::string someone =
      ::geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
  const std::string program = TENSORSMITH_BIN_DIR "/tensorsmith";
  if (std::system((someone + "test -x '" + program + "' 2>/dev/null").c_str()) != 0) {
    skip("the program cannot be run by somebody else than root");
    return;
  }
  for (const int limit : {1, 2, 4, 6, 8, 12}) {
    CommandFolder folder;
    std::filesystem::permissions(folder.path("."), std::filesystem::perms::all);
    CAPTURE(limit);
    const CommandResult result = folder.wait(folder.start(
        {}, "exec " + someone + "sh -c 'ulimit -u " + std::to_string(limit) + "; exec " + program +
                " tune gemm:64x64x64:f32 --trials 4 --db j --json --quiet' >stdout 2>stderr;"));
    check_end(result);
    CHECK(result.err.find("Resource temporarily unavailable") == std::string::npos);
    // Where the system lets somebody else start any number of threads there is a result.
    if (limit == 1 && result.code != 0) {
      CHECK(result.err.find("ulimit -u") != std::string::npos);
    }
  }
#endif
}

TEST_CASE("files that are none are refused, whatever they are asked for") {
  CommandFolder folder;
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  REQUIRE(::symlink("loop", folder.path("loop").c_str()) == 0);
  std::filesystem::create_directory(folder.path("folder"));
  for (const char* file :
       {"fifo", "loop", "folder", "/dev/zero", "/dev/full", "/proc/no/where", "loop/inner"}) {
    for (const char* command : {"tune", "run", "report", "explain"}) {
      CAPTURE(file, command);
      std::vector<std::string> arguments = {command, "gemm:64x64x64:f32", "--db", file};
      if (std::string(command) == "tune") {
        arguments.insert(arguments.end(), {"--trials", "2", "--quiet"});
      } else if (std::string(command) == "report") {
        arguments = {"report", "--db", file, "--output", "page.html"};
      }
      const CommandResult result = folder.run(arguments, "ulimit -t 100;");
      CAPTURE(result.err);
      CHECK(result.signal == 0);
      CHECK(result.code != 0);
      CHECK_FALSE(result.err.empty());
      CHECK(result.err.find("filesystem error") == std::string::npos);
    }
  }
}

TEST_CASE("long chains are tuned and written out") {
  CommandFolder folder;
  std::string gelu = "pointwise:64x64:f32", step = "pointwise:16x16:f32";
  for (int i = 0; i < 40; ++i) {
    gelu += ",gelu";
  }
  for (int i = 0; i < 300; ++i) {
    step += ",relu";
  }
  for (const std::string& chain : {gelu, step}) {
    const CommandResult result = folder.run(tune(chain, "--trials", "2"), "ulimit -t 500;");
    check_end(result);
    CHECK(result.code == 0);
  }
}
