// SPDX-License-Identifier: Apache-2.0
// What tests ask of other processes: who lives, whose child it is, what memory it has.
//
// Test support. A process is known by its number and the time when it started, since the kernel
// gives the number of a dead process to a new one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace tensorsmith::test {

struct Process {
  int pid = 0;
  unsigned long long start_ticks = 0;  // since the machine started
  bool operator==(const Process&) const = default;
  explicit operator bool() const { return pid != 0; }
};

struct ProcessInfo {
  Process process;
  int parent = 0;
  char state = '?';
};

/// False if there is no process of that number, not even one that nobody has waited for.
inline bool read_process(int pid, ProcessInfo& info) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) {
    return false;
  }
  info.process.pid = pid;
  // The name in parentheses may contain anything.
  const std::size_t end = text.rfind(')');
  return end != std::string::npos &&
         std::sscanf(
             text.c_str() + end + 1,
             " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
             &info.state, &info.parent, &info.process.start_ticks) == 3;
}

inline bool is_alive(const Process& process) {
  ProcessInfo info;
  return read_process(process.pid, info) && info.process == process && info.state != 'Z';
}

/// A live child of `parent`, none if there is none.
inline Process child_of(int parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    ProcessInfo info;
    if (pid > 0 && read_process(pid, info) && info.parent == parent && info.state != 'Z') {
      return info.process;
    }
  }
  return {};
}

inline std::int64_t resident_bytes_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// Waits until `condition` holds; false after five minutes, which only what hangs takes.
template <class Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 30'000; ++i) {
    if (condition()) {
      return true;
    }
    ::usleep(10'000);
  }
  return false;
}

}  // namespace tensorsmith::test
