// lower: a concrete state becomes a loop program.
//
// Floor 4. Own design; worked examples in docs/lowering.md. Linear in the size of the program it
// makes. For CUDA targets the program is kernels (docs/decisions/0007). Not here: machine code.
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/hoist_invariants.hpp"

namespace tensorsmith {

/// The program computes every output of the workload. Errors: LowerError (explain() renders it).
inline Result<LoopProgram, LowerError> lower(const State& state, const Target& target) {
  detail::Emitter emitter(state, target);
  Result<LoopProgram, LowerError> program = emitter.run();
  if (program && emitter.has_torn_groups()) {  // which is known when its kernels are complete
    program = detail::Emitter(state, target, false).run();
  }
  if (program && target.kind == TargetKind::cpu) {
    hoist_invariants(*program);
  }
  return program;
}

}  // namespace tensorsmith
