// SPDX-License-Identifier: Apache-2.0
// lowered_program_of: the loops of a candidate, lowered once for all who look at them.
//
// Floor 5. Own design. A part of a ProgramView.
#pragma once

#include "tensorsmith/feature/program_view.hpp"
#include "tensorsmith/lower/lower.hpp"

namespace tensorsmith {

/// An error where lowering refuses the state.
inline Result<LoopProgram, LowerError> lowered_program_of(const ProgramView& view,
                                                          const FeatureContext& context) {
  return lower(view.state(), context.target);
}

}  // namespace tensorsmith
