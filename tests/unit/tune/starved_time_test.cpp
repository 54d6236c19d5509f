// SPDX-License-Identifier: Apache-2.0
#include "tune/starved_time.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("threads at work without a core for each are starved", "[threads]") {
  std::error_code error;
  if (!std::filesystem::exists("/proc/self/schedstat", error)) {
    CHECK(starved_seconds() == 0);
    return;
  }
  std::atomic<bool> is_over{false};
  std::atomic<std::int64_t> work{0};
  std::vector<std::thread> threads;
  const double before = starved_seconds();
  for (unsigned i = 0; i < 4 * std::thread::hardware_concurrency() + 4; ++i) {
    threads.emplace_back([&] {
      while (!is_over) {
        ++work;
      }
    });
  }
  while (work < 30'000'000) {
    std::this_thread::yield();
  }
  const double after = starved_seconds();
  is_over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(after > before);
}
