// SPDX-License-Identifier: Apache-2.0
// One search round without measuring: drawing, mutating, features, scores.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tensorsmith/tune.hpp"

namespace tensorsmith::bench {

/// Seconds that a policy with `options` needs to propose 64 programs of a workload out of
/// `population` times `generations` + 1, with a model that has learnt from 128 made-up results.
nlohmann::ordered_json time_generation(const std::string& workload, TuneOptions options,
                                       int population, int generations);

}  // namespace tensorsmith::bench
