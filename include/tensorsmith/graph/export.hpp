// SPDX-License-Identifier: Apache-2.0
// export_network: a network as C++ that needs nothing else, and a file of weights.
//
// Floor 10; compiled in lib/graph. Own design. The text has every kernel once, each with the
// machine code that was measured (tune/export.hpp); weights lie in the file as their kernels read
// them, and values between kernels in one arena, where the executor has them. Not here: folders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::graph {

struct NetworkExportOptions {
  std::string name = "net";  ///< of the files and of the namespace
  std::string comment;       ///< first line of the text
  std::int32_t num_threads = 1;
  bool is_portable = false;  ///< loops only
  std::uint64_t seed = 1;    ///< of the recorded inputs
};

struct NetworkFile {
  std::string name;   ///< within the folder
  std::string bytes;  ///< text, or weights
};

/// NAME.cpp, NAME.hpp, NAME.weights, NAME_check.cpp with NAME.check (inputs, and what the executor
/// gives for them), CMakeLists.txt. `schedules`: a result for each task, as recorded_schedules()
/// gives. Throws Error.
std::vector<NetworkFile> export_network(const Graph& graph, const Partition& partition,
                                        const std::vector<TuneResult>& schedules,
                                        const NetworkExportOptions& options = {});

}  // namespace tensorsmith::graph
