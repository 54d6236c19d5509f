// SPDX-License-Identifier: Apache-2.0
#include "tune/memory.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

namespace tensorsmith {
namespace {

/// The number behind a word at the beginning of a line, as in meminfo and memory.stat.
std::optional<double> number_behind(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(word, 0) == 0) {
      double value = 0;
      if (std::istringstream(line.substr(word.size())) >> value) {
        return value;
      }
    }
  }
  return std::nullopt;
}

std::optional<double> number_in(const std::string& path) {
  double value = 0;
  std::ifstream file(path);
  return file >> value ? std::optional<double>(value) : std::nullopt;  // "max" is no number
}

/// What a control group leaves: its limit less what it holds and cannot drop.
std::optional<double> left_in(const std::string& folder, const char* limit, const char* used,
                              const char* droppable) {
  const auto most = number_in(folder + limit);
  const auto taken = number_in(folder + used);
  if (!most || !taken) {
    return std::nullopt;
  }
  const double cache = number_behind(folder + "/memory.stat", droppable).value_or(0);
  return std::max(0.0, *most - std::max(0.0, *taken - cache));
}

/// The least over a group and those around it.
void add_groups(const std::string& mount, std::string group, const char* limit, const char* used,
                const char* droppable, std::vector<MemoryLimit>& limits) {
  for (;;) {
    if (const auto left = left_in(mount + group, limit, used, droppable)) {
      limits.push_back({*left, "its control group leaves"});
    }
    if (group.empty()) {
      return;
    }
    group.erase(group.rfind('/'));
  }
}

void add_control_groups(const std::string& root, std::vector<MemoryLimit>& limits) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group.empty() || group[0] != '/') {
      continue;
    }
    group = group == "/" ? "" : group;
    if (controllers.empty()) {
      add_groups(root + "/sys/fs/cgroup", group, "/memory.max", "/memory.current", "inactive_file ",
                 limits);
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      add_groups(root + "/sys/fs/cgroup/memory", group, "/memory.limit_in_bytes",
                 "/memory.usage_in_bytes", "total_inactive_file ", limits);
    }
  }
}

void add_own_limits(const std::string& root, std::vector<MemoryLimit>& limits) {
  double size = 0, resident = 0, shared = 0, text = 0, libraries = 0, data = 0;
  std::ifstream(root + "/proc/self/statm") >> size >> resident >> shared >> text >> libraries >>
      data;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const auto add = [&](auto resource, double used, const char* what) {
    rlimit limit = {};
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      limits.push_back({std::max(0.0, static_cast<double>(limit.rlim_cur) - used), what});
    }
  };
  add(RLIMIT_AS, size * page, "its limit of address space (ulimit -v) leaves");
  add(RLIMIT_DATA, data * page, "its limit of data (ulimit -d) leaves");
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const std::string& root) {
  std::vector<MemoryLimit> limits;
  if (const auto free = number_behind(root + "/proc/meminfo", "MemAvailable:")) {
    limits.push_back({*free * 1024, "what is free on this machine is"});
  } else {
    limits.push_back({static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<double>(::sysconf(_SC_PAGESIZE)),
                      "this machine has"});
  }
  add_control_groups(root, limits);
  add_own_limits(root, limits);
  return limits;
}

std::string memory_problem(double wanted, const std::vector<MemoryLimit>& limits) {
  const auto least = std::min_element(
      limits.begin(), limits.end(),
      [](const MemoryLimit& a, const MemoryLimit& b) { return a.bytes < b.bytes; });
  if (least == limits.end() || wanted <= least->bytes) {
    return {};
  }
  constexpr double gib = 1024.0 * 1024 * 1024;
  char text[240];
  std::snprintf(text, sizeof(text),
                "the workload needs about %.3g GiB of memory to be verified and measured, and %s "
                "%.3g GiB; choose smaller sizes",
                wanted / gib, least->what.c_str(), least->bytes / gib);
  return text;
}

}  // namespace tensorsmith
