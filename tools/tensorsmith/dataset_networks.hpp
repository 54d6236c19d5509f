// SPDX-License-Identifier: Apache-2.0
// The tasks of networks and of lists of tasks, for datasets.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "command.hpp"

namespace tensorsmith::cli {

/// Workload strings and how often each is called.
using NetworkTasks = std::vector<std::pair<std::string, double>>;

/// Of an ONNX file, an example network ("example:NAME"), or a description of the reference's
/// network (.json, .json.gz; see graph/relay.hpp). Throws Error.
NetworkTasks network_tasks(const std::string& network, const Target& target);
/// Of a list of workloads, as tune --tasks takes it. Throws Error.
NetworkTasks listed_tasks(const std::string& file, const Target& target);
/// The file's name without folders and endings.
std::string network_name(const std::string& network);

}  // namespace tensorsmith::cli
