// SPDX-License-Identifier: Apache-2.0
// Exported C++ of a kernel, compiled by a compiler of the caller's and loaded into this process.
//
// Own design. The files are those that TuneResult and `tensorsmith export` write; a third one, of
// this benchmark, calls the function with an array of pointers. Not here: timing.
#pragma once

#include <string>

#include "bench/support/compiled_library.hpp"
#include "tensorsmith/codegen/kernel_source.hpp"

namespace tensorsmith::bench {

class CompiledSource {
 public:
  /// Throws Error with the compiler's messages; a warning is an error.
  CompiledSource(const KernelSource& source, const std::string& compiler,
                 const std::string& machine_flag);

  void operator()(void* const* arguments) const { run_(arguments); }

 private:
  CompiledLibrary library_;
  void (*run_)(void* const*);
};

}  // namespace tensorsmith::bench
