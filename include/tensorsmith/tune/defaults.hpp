// SPDX-License-Identifier: Apache-2.0
// Names and places that command lines and programs have in common: targets, journals, the cache.
//
// Floor 10; compiled in lib/tune. Own design. Nothing is made or written here.
#pragma once

#include <string>

#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {

/// $XDG_CACHE_HOME/tensorsmith or ~/.cache/tensorsmith; empty: neither is set.
std::string cache_folder();

/// The journal of a workload in the cache folder, one file each; empty: there is no folder.
std::string default_journal(const std::string& workload);

/// "host", a level or CPU, a GPU of this machine ("cuda", "cuda:1", "h200"), a GPU's class, or a
/// simulated board ("sim:a100"). Error: one sentence.
Result<Target, std::string> named_target(const std::string& name);
/// The same, whose code this machine can run or simulate.
Result<Target, std::string> named_runnable_target(const std::string& name);

/// The task of a workload string (ops/workload.hpp). Throws Error for a string that is none.
TuneTask named_task(const std::string& workload, const Target& target);

}  // namespace tensorsmith
