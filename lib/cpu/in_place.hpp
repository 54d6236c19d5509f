// Inputs in whose memory a kernel may leave its result.
//
// Private to lib/cpu. Own design. Lowering stores every element of an output once, unless it keeps
// partial sums there. So the result may lie where an input does if every store to it reads that
// input at the same place, no loop repeats it there, and nothing else reads the input, or the
// result.
#pragma once

#include <cstdint>
#include <vector>

#include "program_facts.hpp"

namespace tensorsmith::llvm_codegen {

/// Positions among the arguments, in order; none if the program has several results.
std::vector<std::int32_t> overwritable_arguments(const LoopProgram& program,
                                                 const ProgramFacts& facts);

}  // namespace tensorsmith::llvm_codegen
