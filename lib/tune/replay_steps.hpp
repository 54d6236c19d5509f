// replay_steps: a history of steps becomes a state, or one sentence why not.
//
// Private to lib/ and tools/. Own design: records come from files, so their steps may be anything.
#pragma once

#include <memory>
#include <vector>

#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// Bounds are inferred. Throws Error that names the first step that does not apply.
State replay_steps(const Shared<const ComputeDag>& dag, const std::vector<Step>& steps);

}  // namespace tensorsmith
