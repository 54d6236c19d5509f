// SPDX-License-Identifier: Apache-2.0
// How much memory a program may still take here, and what says so.
//
// Private to lib/ and tools/. Own design. Not here: what a workload needs (measure_task.hpp).
#pragma once

#include <string>
#include <vector>

namespace tensorsmith {

/// One of the things that keep memory from a process.
struct MemoryLimit {
  double bytes = 0;  ///< that are left
  std::string what;  ///< in front of the number, e.g. "its control group leaves"
};

/// Those of this process: free memory of the machine, its control groups (both versions), its limit
/// of address space and of data. `root`: in front of /proc and /sys; for tests.
std::vector<MemoryLimit> memory_limits(const std::string& root = {});

/// One sentence if the least of the limits is below `wanted` bytes, with both; else empty.
std::string memory_problem(double wanted, const std::vector<MemoryLimit>& limits);

}  // namespace tensorsmith
