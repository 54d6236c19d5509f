// SPDX-License-Identifier: Apache-2.0
// machine_facts: every number that is believed of a processor of this machine, and its source.
//
// Floor 10; compiled in lib/tune. Own design. Not here: finding them (host.hpp, calibration.hpp).
#pragma once

#include <vector>

#include "tensorsmith/report/machine.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// Sizes and ways of caches, cores, vectors and multiply-adds, as far as they are known, then rates
/// (core_rates.hpp): those that are kept for this machine, or what is believed of such a core.
/// `target`: host_target(), or what runnable_target makes of a name.
std::vector<MachineFact> machine_facts(const Target& target);

}  // namespace tensorsmith
