// SPDX-License-Identifier: Apache-2.0
// lower: a concrete state becomes a loop program.
//
// Floor 4. Own design; worked examples in docs/lowering.md. Linear in the size of the program it
// makes. For CUDA targets the program is kernels (docs/decisions/0007). Not here: machine code.
#pragma once

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/lower/lower_error.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// The program computes every output of the workload. Errors: LowerError (explain() renders it).
TENSORSMITH_INLINE Result<LoopProgram, LowerError> lower(const State& state, const Target& target);

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/lower/lower_body.hpp"
#endif
