// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "measure/worker_process.hpp"

#include "support/catch.hpp"
#include "support/processes.hpp"

#include <atomic>
#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "worker_fixture.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENSORSMITH_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENSORSMITH_HAS_SANITIZER 1
#endif
#endif

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t full_n =
    1024;  // a multiple of 64 bytes: the data ends at an inaccessible page

}  // namespace

TEST_CASE("accesses at the edge of an inaccessible page are explained") {
  TENSORSMITH_NEEDS(!zoo<full_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(full_n)).has_value());
  const std::vector<CompiledCandidate> batch = {
      candidate_of(zoo<full_n>(), "one_past"), candidate_of(zoo<full_n>(), "one_before"),
      candidate_of(zoo<full_n>(), "past_workspace", 4 * full_n),
      candidate_of(zoo<full_n>(), "good")};
  const auto results = measurer->measure(batch, {});
  CHECK(name_of(results[0].status) == "out_of_bounds");
  CHECK(results[0].message == "write 0 bytes past the end of argument 'B'");
  CHECK(name_of(results[1].status) == "out_of_bounds");
  CHECK(name_of(results[2].status) == "out_of_bounds");
  CHECK(results[2].message == "write 0 bytes past the end of the workspace");
  CHECK(results[3].is_ok());
}

TEST_CASE("a worker killed from outside is replaced once, then reported lost") {
  TENSORSMITH_NEEDS(!zoo<full_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(full_n)).has_value());
  const CompiledCandidate good = candidate_of(zoo<full_n>(), "good");
  const CompiledCandidate forever = candidate_of(zoo<full_n>(), "forever");

  const Process idle = child_of(::getpid());
  REQUIRE(idle);
  ::kill(idle.pid, SIGKILL);
  REQUIRE(eventually([idle] { return !is_alive(idle); }));
  const MeasureResult repeated = measurer->measure(std::span(&good, 1), {})[0];
  CHECK(repeated.is_ok());
  CHECK(repeated.message.find("measured again: the worker was killed by SIGKILL") == 0);

  MeasureContext context;
  context.racing.first_timeout_ns = 600 * second;
  std::thread killer([] {
    Process last;
    for (int round = 0; round < 2; ++round) {
      Process next;
      const bool has_started = eventually([&next, last] {
        next = child_of(::getpid());
        return next && next != last;
      });
      ::usleep(200'000);  // well into the kernel; in any case before its deadline
      last = next;
      if (has_started) {
        ::kill(next.pid, SIGKILL);
      }
    }
  });
  const MeasureResult lost = measurer->measure(std::span(&forever, 1), context)[0];
  killer.join();
  CHECK(name_of(lost.status) == "worker_lost");
  CHECK(lost.message.find("SIGKILL") != std::string::npos);
  CHECK(measurer->measure(std::span(&good, 1), {})[0].is_ok());
}

TEST_CASE("no worker outlives its parent or its measurer") {
  TENSORSMITH_NEEDS(!zoo<full_n>().empty(), "no C compiler");
  for (const bool is_busy : {true, false}) {
    const int parent = ::fork();
    if (parent == 0) {
      const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
      MeasureContext context;
      context.racing.first_timeout_ns = 600 * second;
      const CompiledCandidate forever = candidate_of(zoo<full_n>(), "forever");
      const bool is_prepared = measurer->prepare(affine_task(full_n)).has_value();
      while (is_prepared) {
        if (is_busy) {
          measurer->measure(std::span(&forever, 1), context);
        } else {
          ::usleep(10'000);
        }
      }
      ::_exit(1);
    }
    REQUIRE(parent > 0);
    Process worker;
    REQUIRE(eventually([&worker, parent] { return bool(worker = child_of(parent)); }));
    ::usleep(200'000);  // well into its work
    CHECK(is_alive(worker));
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
    CHECK(eventually([worker] { return !is_alive(worker); }));
  }

  Process worker;
  {
    const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
    REQUIRE(measurer->prepare(affine_task(full_n)).has_value());
    worker = child_of(::getpid());
    CHECK(is_alive(worker));
  }
  ProcessInfo info;  // not even a zombie; another process may have its number by now
  CHECK((!read_process(worker.pid, info) || info.process != worker));
}

TEST_CASE("memory stays within bounds and does not grow") {
#if defined(TENSORSMITH_HAS_SANITIZER)
  WARN("skipped: sanitizers keep freed memory, so sizes mean nothing");
  return;
#endif
  TENSORSMITH_NEEDS(!zoo<full_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  const std::int64_t large = 4 << 20;  // two buffers of 16 MiB
  const std::vector<std::byte> large_zoo = compile_c(kernel_zoo(large));
  const MeasureTask large_task = affine_task(large);
  REQUIRE(measurer->prepare(large_task).has_value());
  const CompiledCandidate large_good = candidate_of(large_zoo, "good");
  CHECK(measurer->measure(std::span(&large_good, 1), {})[0].is_ok());
  const Process first = child_of(::getpid());
  CHECK(resident_bytes_of(first.pid) <= 3 * large_task.num_bytes() + 100'000'000);

  REQUIRE(measurer->prepare(affine_task(full_n)).has_value());
  // Objects at different addresses, so that each is sent and linked.
  const std::vector<std::vector<std::byte>> objects = {zoo<full_n>(), zoo<full_n>()};
  const std::vector<CompiledCandidate> batch = {candidate_of(objects[0], "good"),
                                                candidate_of(objects[1], "workspace", 4 * full_n)};
  MeasureContext context;
  context.racing.full_calls = 5;
  const auto measure_rounds = [&](int rounds) {
    std::size_t num_ok = 0;
    for (int round = 0; round < rounds; ++round) {
      for (const MeasureResult& result : measurer->measure(batch, context)) {
        num_ok += result.is_ok() ? 1U : 0U;
      }
    }
    return num_ok;
  };
  REQUIRE(measure_rounds(100) == 200);
  const Process worker = child_of(::getpid());
  const std::int64_t worker_before = resident_bytes_of(worker.pid);
  const std::int64_t self_before = resident_bytes_of(::getpid());
  REQUIRE(measure_rounds(1000) == 2000);
  CHECK((child_of(::getpid()) == worker));
  CHECK(resident_bytes_of(worker.pid) - worker_before < 4'000'000);
  CHECK(resident_bytes_of(::getpid()) - self_before < 4'000'000);
}

TEST_CASE("a leaking kernel is measured and its worker replaced") {
  TENSORSMITH_NEEDS(!zoo<full_n>().empty(), "no C compiler");
  WorkerOptions options = worker_options();
  options.recycle_growth_bytes = 10'000'000;
  const auto measurer = std::make_unique<WorkerMeasurer>(options);
  REQUIRE(measurer->prepare(affine_task(full_n)).has_value());
  const CompiledCandidate leaks = candidate_of(zoo<full_n>(), "leaks");
  const CompiledCandidate good = candidate_of(zoo<full_n>(), "good");
  REQUIRE(measurer->measure(std::span(&good, 1), {})[0].is_ok());
  const Process before = child_of(::getpid());
  CHECK(measurer->measure(std::span(&leaks, 1), {})[0].is_ok());
  CHECK(measurer->measure(std::span(&good, 1), {})[0].is_ok());
  CHECK((child_of(::getpid()) != before));
}
