// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "cpu/thread_pool.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace tensorsmith;

namespace {

struct Job {
  std::vector<std::atomic<int>> hits;
  std::atomic<int> bad_workers{0};
  std::int32_t num_threads = 1;
  const KernelRuntime* nested = nullptr;
  explicit Job(std::size_t count) : hits(count) {}
};

void run_part(void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
  Job& job = *static_cast<Job*>(closure);
  if (worker < 0 || worker >= job.num_threads) {
    ++job.bad_workers;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    ++job.hits[static_cast<std::size_t>(i)];
  }
}

void run_nested(void* closure, std::int64_t begin, std::int64_t end, std::int32_t) {
  Job& job = *static_cast<Job*>(closure);
  for (std::int64_t i = begin; i < end; ++i) {
    if (i == 0) {
      job.nested->parallel_for(job.nested, &run_part, &job, 10);
    }
  }
}

bool all_once(const Job& job) {
  return std::all_of(job.hits.begin(), job.hits.end(),
                     [](const std::atomic<int>& hit) { return hit == 1; });
}

void call(const ThreadPool& pool, ParallelBody body, Job& job, std::int64_t count) {
  const KernelRuntime& runtime = pool.runtime();
  runtime.parallel_for(&runtime, body, &job, count);
}

}  // namespace

TEST_CASE("every iteration runs exactly once", "[threads]") {
  for (const std::int32_t threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    CHECK(pool.num_threads() == threads);
    CHECK(pool.runtime().num_threads == threads);
    for (const std::int64_t count : {0, 1, 2, 3, 7, 12, 17, 1000}) {
      Job job(static_cast<std::size_t>(count));
      job.num_threads = threads;
      call(pool, &run_part, job, count);
      CAPTURE(threads, count);
      CHECK(all_once(job));
      CHECK(job.bad_workers == 0);
    }
  }
}

TEST_CASE("thousands of short jobs in a row neither lose nor repeat work", "[threads]") {
  ThreadPool pool(4);
  int num_bad = 0;
  for (int round = 0; round < 5000; ++round) {
    Job job(static_cast<std::size_t>(2 + round % 23));
    job.num_threads = 4;
    call(pool, &run_part, job, 2 + round % 23);
    num_bad += all_once(job) && job.bad_workers == 0 ? 0 : 1;
    if (round % 500 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // let the workers fall asleep
    }
  }
  CHECK(num_bad == 0);
}

TEST_CASE("a parallel loop inside a parallel loop runs on its thread", "[threads]") {
  ThreadPool pool(3);
  Job job(10);
  job.num_threads = 1;  // worker 0 only
  job.nested = &pool.runtime();
  call(pool, &run_nested, job, 5);
  CHECK(all_once(job));
  CHECK(job.bad_workers == 0);
}

TEST_CASE("two callers share a pool", "[threads]") {
  ThreadPool pool(3);
  std::atomic<int> num_bad{0};
  const auto caller = [&pool, &num_bad] {
    for (int round = 0; round < 1000; ++round) {
      Job job(50);
      job.num_threads = 3;
      call(pool, &run_part, job, 50);
      num_bad += all_once(job) ? 0 : 1;
    }
  };
  std::thread other(caller);
  caller();
  other.join();
  CHECK(num_bad == 0);
}

TEST_CASE("a pool of nonsense size is a pool of one", "[threads]") {
  ThreadPool pool(-3);
  Job job(5);
  call(pool, &run_part, job, 5);
  CHECK(pool.num_threads() == 1);
  CHECK(all_once(job));
}
