// SPDX-License-Identifier: Apache-2.0
// What keeps memory from a process, from files as systems have them.
#include "lib/tune/memory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

/// A folder that stands for / and goes away with the object.
class Root {
 public:
  Root() {
    path_ = (std::filesystem::temp_directory_path() /
             ("tensorsmith-memory-" + std::to_string(::getpid())))
                .string();
    std::filesystem::remove_all(path_);
  }
  ~Root() { std::filesystem::remove_all(path_); }
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path whole = path_ + file;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  /// The limit with that beginning; -1: none.
  double bytes(const std::string& what) const {
    double least = -1;
    for (const MemoryLimit& limit : memory_limits(path_)) {
      if (limit.what.rfind(what, 0) == 0 && (least < 0 || limit.bytes < least)) {
        least = limit.bytes;
      }
    }
    return least;
  }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("free memory is what the system calls available") {
  const Root root;
  root.write("/proc/meminfo", "MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:   600 kB\n");
  CHECK(root.bytes("what is free") == 600 * 1024);
  CHECK(root.bytes("its control group") < 0);
}

TEST_CASE("a control group of the second version, and those around it") {
  const Root root;
  root.write("/proc/self/cgroup", "0::/a/b\n");
  root.write("/sys/fs/cgroup/a/memory.max", "5000\n");
  root.write("/sys/fs/cgroup/a/memory.current", "3000\n");
  root.write("/sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_file 1000\n");
  root.write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("/sys/fs/cgroup/a/b/memory.current", "3000\n");
  CHECK(root.bytes("its control group") == 3000);
  root.write("/sys/fs/cgroup/a/b/memory.max", "3100\n");
  CHECK(root.bytes("its control group") == 100);
}

TEST_CASE("a control group of the first version") {
  const Root root;
  root.write("/proc/self/cgroup", "9:cpu:/x\n4:memory:/jobs/1\n");
  root.write("/sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes", "4096\n");
  root.write("/sys/fs/cgroup/memory/jobs/1/memory.usage_in_bytes", "4000\n");
  root.write("/sys/fs/cgroup/memory/jobs/1/memory.stat", "cache 9\ntotal_inactive_file 500\n");
  CHECK(root.bytes("its control group") == 4096 - 3500);
}

TEST_CASE("what is wanted is compared with the least, and both are said") {
  constexpr double gib = 1024.0 * 1024 * 1024;
  const std::vector<MemoryLimit> limits = {{8 * gib, "what is free on this machine is"},
                                           {2 * gib, "its control group leaves"}};
  CHECK(memory_problem(gib, limits).empty());
  CHECK(memory_problem(3 * gib, limits) ==
        "the workload needs about 3 GiB of memory to be verified and measured, and its control "
        "group leaves 2 GiB; choose smaller sizes");
  CHECK(memory_problem(3 * gib, {}).empty());
}
