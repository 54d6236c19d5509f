// SPDX-License-Identifier: Apache-2.0
// The interpreter of loop programs: the meaning of every statement, checked access by access.
//
// Floor 1. Own design. Parallel loops may run in another order, so that tests find dependences;
// vectorized loops run lane by lane per statement: all lanes finish a statement (reads before
// writes) before any begins the next, as code generation does. The threads of a GPU block run one
// after the other from barrier to barrier, and races between threads are errors. Not here: speed.
#pragma once

#include <vector>

#include "tensorsmith/ir/eval_error.hpp"
#include "tensorsmith/ir/eval_options.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// Runs `program` on `arguments` (in the order of program.arguments), which receive the results. On
/// an error the arguments keep what they were.
TENSORSMITH_INLINE Result<Done, EvalError> eval(const LoopProgram& program,
                                                std::vector<HostArray>& arguments,
                                                const EvalOptions& options = {});

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ir/eval_body.hpp"
#endif
