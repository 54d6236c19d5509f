// lower: a concrete state becomes a loop program.
//
// Floor 4. Own design; worked examples in docs/lowering.md. Linear in the size of the program it
// makes. Not here: GPU bindings (their loops are emitted serially), machine code.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith {

/// The program computes every output of the workload. Errors: LowerError (explain() renders it).
inline Result<LoopProgram, LowerError> lower(const State& state, const Target& target) {
  return detail::Emitter(state, target).run();
}

}  // namespace tensorsmith
