// emit_cpp_source: a loop program as readable, self-contained C++17.
//
// Floor 5. Own design. The text needs a C++17 compiler with the vector extensions of GCC and clang
// and nothing else. Vectorized loops become vector types where every access is unit stride or
// invariant, plain loops elsewhere; register buffers become variables (register_plan.hpp). Parallel
// loops carry an OpenMP pragma, which a compiler without OpenMP ignores. Bodies of loops bound to a
// GPU are refused by an assertion. Not here: speed equal to the LLVM back end, files, compiling.
#pragma once

#include <string>

#include "tensorsmith/codegen/kernel_source.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

struct CppSourceOptions {
  std::string function_name = "kernel";
  std::string comment;     ///< first lines of the text, e.g. the workload
  bool openmp = true;      ///< mark parallel loops
  bool abi_entry = false;  ///< also emit <function_name>_entry with the interface of kernel_abi.hpp
};

/// The whole translation unit and a header for it. Linear in the size of the text.
TENSORSMITH_INLINE KernelSource emit_cpp_source(const LoopProgram& program,
                                                const CppSourceOptions& options = {});

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/codegen/cpp_source_body.hpp"
#endif
