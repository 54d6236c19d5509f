// SPDX-License-Identifier: Apache-2.0
// The definition of lower.
//
// Floor 4. Included by lower/lower.hpp or compiled once (support/compiled.hpp).
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/hoist_invariants.hpp"
#include "tensorsmith/lower/hoist_rows.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/lower/sum_in_blocks.hpp"
#include "tensorsmith/lower/write_out_sums.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE Result<LoopProgram, LowerError> lower(const State& state, const Target& target) {
  detail::Emitter emitter(state, target);
  Result<LoopProgram, LowerError> program = emitter.run();
  if (program && emitter.has_torn_groups()) {  // which is known when its kernels are complete
    program = detail::Emitter(state, target, false).run();
  }
  if (program) {
    sum_in_blocks(*program, target.kind != TargetKind::cpu);
  }
  if (program && target.kind == TargetKind::cpu) {
    write_out_sums(*program, target);
    hoist_rows(*program, target);
    hoist_invariants(*program, target);
  }
  for (std::size_t s = 0; program && s < state.num_stages(); ++s) {
    for (const auto& [kind, hint] : state.stage(s).hints) {
      if (kind->lower != nullptr) {
        kind->lower(hint, *program, state.operation(s).name);
      }
    }
  }
  return program;
}

}  // namespace tensorsmith
