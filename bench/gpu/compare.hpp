// SPDX-License-Identifier: Apache-2.0
// The best programs of a case on the device, among the libraries that do the same.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bench/gpu/gpu_case.hpp"

namespace tensorsmith::bench {

/// `results`: one per part of the case. With their times, ratios of the peers and the clocks.
/// `compares`: results of libraries too, one that differs is absent. Throws Error.
nlohmann::json compare_on_device(const GpuCase& one, const std::vector<TuneResult>& results,
                                 bool compares);

}  // namespace tensorsmith::bench
