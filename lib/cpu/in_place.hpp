// SPDX-License-Identifier: Apache-2.0
// Inputs in whose memory a kernel may leave its result.
//
// Private to lib/cpu. Own design (decisions/0012, 0014). Lowering stores every element of an output
// once, unless it keeps partial sums there. So the result may lie where an input does if every
// store to it reads that input at the same place, no loop repeats it there, and nothing else reads
// the input, or the result.
#pragma once

#include <cstdint>
#include <vector>

#include "program_facts.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::llvm_codegen {

/// Positions among the arguments, in order; none if the program has several results.
std::vector<std::int32_t> overwritable_arguments(const LoopProgram& program,
                                                 const ProgramFacts& facts);

/// A result, and the inputs in whose memory it may lie.
struct InPlace {
  std::vector<BufferId> inputs;  ///< empty: it lies in its own
  BufferId result;
};

/// Whether memory is the limit of the program in place: without large local buffers and parallel
/// loops (if not `is_serial`) it is stores of a result that with one of the inputs is larger than
/// the second level cache.
bool is_stream(const LoopProgram& program, const InPlace& in_place, const Target& target,
               bool is_serial);

}  // namespace tensorsmith::llvm_codegen
