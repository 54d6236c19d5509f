// SPDX-License-Identifier: Apache-2.0
// emit_cpp_source: a loop program as readable, self-contained C++17.
//
// Floor 5. Own design. The text needs a C++17 compiler with the vector extensions of GCC and clang
// and nothing else. Vectorized loops become vector types where every access is unit stride or
// invariant, plain loops elsewhere; register buffers become variables (register_plan.hpp). Parallel
// loops carry an OpenMP pragma for compilers that are told of OpenMP. Functions of f32 come along
// (cpp_math.hpp). Beside them may stand the machine code of the program (machine_text.hpp).
// Bodies of loops bound to a GPU are refused by an assertion. Not here: files, compiling.
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/codegen/kernel_source.hpp"
#include "tensorsmith/codegen/machine_text.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct CppSourceOptions {
  std::string function_name = "kernel";
  std::string comment;     ///< first lines of the text, e.g. the workload
  bool openmp = true;      ///< mark parallel loops, for compilers that are told of OpenMP
  bool abi_entry = false;  ///< also emit <function_name>_entry with the interface of kernel_abi.hpp
  /// Of the processor's vectors (Target::vector_bits / 8), a power of two from 8 to 64: wider ones
  /// would be taken apart through memory.
  std::int32_t vector_bytes = 64;
  /// The program's machine code, called `machine_code_name(function_name)`: the text carries it for
  /// processors and systems that it is for, and its loops for others. nullptr: the loops only.
  const MachineText* machine = nullptr;
};

/// The symbol of the machine code behind an exported function.
inline std::string machine_code_name(const std::string& function) { return function + "_code"; }

/// For code that runs on `target` with so many threads.
inline CppSourceOptions cpp_source_options(const Target& target, std::int32_t num_threads) {
  CppSourceOptions options;
  options.openmp = num_threads > 1;
  options.vector_bytes = target.vector_bits >= 128 ? target.vector_bits / 8 : 16;
  return options;
}

/// The whole translation unit and a header for it. Linear in the size of the text.
TENSORSMITH_INLINE KernelSource emit_cpp_source(const LoopProgram& program,
                                                const CppSourceOptions& options = {});

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/codegen/cpp_source_body.hpp"
#endif
