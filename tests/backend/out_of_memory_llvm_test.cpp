// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

constexpr std::size_t reserve = std::size_t{16} << 20;

void* volatile kept = nullptr;

/// Pages of addresses that the process has.
std::size_t num_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages;
}

/// Leaves no memory, of whatever size, and throws as an allocation does.
void use_all_memory() {
  for (std::size_t bytes = reserve; bytes > 0; bytes -= bytes > 4096 ? bytes / 2 : 8) {
    do {
      kept = std::malloc(bytes);
    } while (kept != nullptr);
  }
  throw std::bad_alloc();
}

}  // namespace

TEST_CASE("a failed allocation inside of std::call_once ends no process", "[codegen]") {
#if defined(TENSORSMITH_HAS_SANITIZER)
  test::skip("sanitizers have an allocator of their own");
#else
  const int pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    const std::size_t now = num_pages() * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const rlimit limit{now + reserve, now + reserve};
    std::once_flag once;
    int code = 1;
    if (now > 0 && ::setrlimit(RLIMIT_AS, &limit) == 0) {
      try {
        std::call_once(once, use_all_memory);
      } catch (const std::bad_alloc&) {
        code = 7;
      }
    }
    ::_exit(code);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
#endif
}
