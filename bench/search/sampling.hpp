// SPDX-License-Identifier: Apache-2.0
// How fast legal assignments of a space's templates are drawn.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tensorsmith::bench {

/// Of the native space for a GPU: assignments per second and core under constraints, programs per
/// second, and the share of those that a block can hold.
nlohmann::ordered_json time_sampling(const std::string& workload, const std::string& gpu);

}  // namespace tensorsmith::bench
