// SPDX-License-Identifier: Apache-2.0
// split_prepack: what a program computes from constant inputs alone becomes a function of its own.
//
// Floor 4. Own design: weights are packed once, ahead of time, as all libraries offer it
// (cblas_sgemm_pack, format_tag::any). Any statement at root that depends on constants alone moves:
// packed operands, transformed filters, scaled weights.
//     kernel(A, B, C):  B.packed = pack(B); C = A * B.packed
//     -->  prepack(B, B.packed):  B.packed = pack(B)      once
//          kernel(A, B.packed, C):  C = A * B.packed      in every call
// Buffers between the two are arguments of both. Linear in the size of the program. Not here: which
// stages these are before lowering (sched/prepared.hpp).
#pragma once

#include <optional>
#include <vector>

#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

/// A kernel as one program, or as two. The order of `main`'s arguments is that of the whole, with
/// packed buffers in the place of the constant they are made of; a constant that `main` does not
/// read is no argument of it. `prepack` takes constants, then what it makes of them.
struct KernelPrograms {
  LoopProgram main;
  std::optional<LoopProgram> prepack;
  std::vector<BufferId> arguments;  ///< of the whole; ids mean the same buffers in both programs
};

/// `is_constant`: by argument of the program; outputs are not.
TENSORSMITH_INLINE KernelPrograms split_prepack(LoopProgram program,
                                                const std::vector<bool>& is_constant);

/// lower(), split at the constants of the workload.
TENSORSMITH_INLINE Result<KernelPrograms, LowerError> lower_kernel(const State& state,
                                                                   const Target& target);

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/lower/prepack_body.hpp"
#endif
