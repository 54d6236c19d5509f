// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// How long a worker is waited for, and whose fault it is: stopped, kept from the processor, asleep,
// out of time.
#include "measure/worker_process.hpp"

#include "support/catch.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "worker_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t n = 1000;

/// State and parent of a process as the system tells them.
std::pair<char, int> state_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  char state = '?';
  int parent = 0;
  if (end != std::string::npos) {
    std::sscanf(text.c_str() + end + 1, " %c %d", &state, &parent);
  }
  return {state, parent};
}

/// The one worker of this process.
int worker() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0) {
      const auto [state, parent] = state_of(pid);
      if (parent == ::getpid() && state != 'Z') {
        return pid;
      }
    }
  }
  return 0;
}

struct Prepared {
  Prepared() : measurer(worker_options()), is_ready(measurer.prepare(affine_task(n)).has_value()) {}
  MeasureResult measure(const char* entry, const MeasureContext& context) {
    const CompiledCandidate candidate = candidate_of(zoo<n>(), entry);
    return measurer.measure(std::span(&candidate, 1), context)[0];
  }
  WorkerMeasurer measurer;
  bool is_ready;
};

MeasureContext within(std::int64_t timeout_ns) {
  MeasureContext context;
  context.racing.first_timeout_ns = timeout_ns;
  return context;
}

}  // namespace

TEST_CASE("a stopped worker is replaced at once, and the candidate is measured again") {
  TENSORSMITH_NEEDS(!zoo<n>().empty(), "no C compiler");
  Prepared prepared;
  REQUIRE(prepared.is_ready);
  const int pid = worker();
  REQUIRE(pid > 0);
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  while (state_of(pid).first != 'T') {
    ::usleep(1000);
  }
  const MeasureResult result = prepared.measure("good", within(second));
  CAPTURE(result.message);
  CHECK(result.is_ok());
  CHECK(result.message == "measured again: the worker was stopped from outside");
  CHECK(worker() != pid);
}

TEST_CASE("a worker that is stopped in a call is no timeout of the candidate's") {
  TENSORSMITH_NEEDS(!zoo<n>().empty(), "no C compiler");
  Prepared prepared;
  REQUIRE(prepared.is_ready);
  const int pid = worker();
  std::thread stopper([pid] {
    // The call naps, again and again; whenever it is hit is right.
    ::usleep(300'000);
    ::kill(pid, SIGSTOP);
  });
  const MeasureResult result = prepared.measure("naps", within(second));
  stopper.join();
  CAPTURE(result.message);
  CHECK(result.is_ok());
}

TEST_CASE("a signal that somebody sends is not the candidate's") {
  TENSORSMITH_NEEDS(!zoo<n>().empty(), "no C compiler");
  for (const int signal : {SIGSEGV, SIGFPE, SIGUSR1, SIGXCPU}) {
    Prepared prepared;
    REQUIRE(prepared.is_ready);
    const int pid = worker();
    REQUIRE(::kill(pid, signal) == 0);
    const MeasureResult result = prepared.measure("good", within(second));
    CAPTURE(signal, result.message);
    CHECK(result.is_ok());
    CHECK(result.message.rfind("measured again: the worker was ", 0) == 0);
  }
}

TEST_CASE("what counts for a deadline is the processor time that a call got") {
  TENSORSMITH_NEEDS(!zoo<n>().empty(), "no C compiler");
  Prepared prepared;
  REQUIRE(prepared.is_ready);
  // 90 ms without a processor where 20 ms are allowed, as on a machine with other work.
  const MeasureResult kept = prepared.measure("naps", within(20'000'000));
  CAPTURE(kept.message);
  CHECK(kept.is_ok());
  const MeasureResult busy = prepared.measure("forever", within(20'000'000));
  CHECK(name_of(busy.status) == "run_timeout");
  const MeasureResult asleep = prepared.measure("sleeps", within(20'000'000));
  CAPTURE(asleep.message);
  CHECK(name_of(asleep.status) == "run_timeout");
  CHECK(asleep.message == "a call slept past its deadline");
}

TEST_CASE("when the time is up, what runs is dropped and is nobody's failure") {
  TENSORSMITH_NEEDS(!zoo<n>().empty(), "no C compiler");
  Prepared prepared;
  REQUIRE(prepared.is_ready);
  MeasureContext context = within(1'000'000 * second);  // without it the test would not end
  context.max_wall_ns = second / 2;
  context.max_overrun_ns = second / 10;
  const MeasureResult result = prepared.measure("forever", context);
  CAPTURE(result.message);
  CHECK(name_of(result.status) == "cancelled");
  CHECK(prepared.measure("good", within(second)).is_ok());

  RankingPolicy policy;
  policy.call_timeout_ns = 1'000'000 * second;
  policy.max_wall_ns = second / 2;
  const std::vector<CompiledCandidate> both = {candidate_of(zoo<n>(), "good"),
                                               candidate_of(zoo<n>(), "forever")};
  const RankingResult ranking = prepared.measurer.final_ranking(both, policy);
  CHECK(ranking.winner >= both.size());
}

TEST_CASE("a worker that does not start in its time is said to") {
  WorkerOptions options = worker_options();
  options.start_timeout_ns = 1;
  WorkerMeasurer measurer(options);
  const auto prepared = measurer.prepare(affine_task(n));
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().message.find("did not start: no hello within") != std::string::npos);
}

TEST_CASE("more workers than cores: those without one of their own say so") {
  std::vector<std::unique_ptr<Prepared>> all;
  std::size_t num_told = 0;
  for (long i = ::sysconf(_SC_NPROCESSORS_CONF); i >= 0 && num_told == 0; --i) {
    all.push_back(std::make_unique<Prepared>());
    REQUIRE(all.back()->is_ready);
    num_told += all.back()->measurer.note().empty() ? 0 : 1;
  }
  CHECK(num_told == 1);
}
