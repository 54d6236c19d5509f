// SPDX-License-Identifier: Apache-2.0
// build_store_program: from a state to its stores.
//
// Floor 5. Ansor reference, ch. 6.1. Stages are emitted where they are attached, each with its
// loops; what the stages are made of is known before (stage_nests.hpp).
#pragma once

#include <optional>

#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

/// Nothing if the state is not concrete or cannot be built. It refers to the state's dag.
TENSORSMITH_INLINE std::optional<StoreProgram> build_store_program(const State& state);

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/feature/build_store_program_body.hpp"
#endif
