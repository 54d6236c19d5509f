// SPDX-License-Identifier: Apache-2.0
// cuda_source: a loop program for a GPU as readable CUDA C++ that needs no header.
//
// Floor 5. Own design. One `extern "C"` kernel per nest of blocks and threads, launched in order.
// Vectorized loops become float4 and the like, private buffers of a thread plain arrays (constant
// indices make them registers), shared buffers static up to 48 KiB and dynamic above. Arithmetic on
// indices has 32 bits where that is enough. The meaning is that of the interpreter; expf and the
// like are CUDA's own. Not here: compiling (nvrtc.hpp), launching.
#pragma once

#include <string>

#include "tensorsmith/codegen/cuda_launch.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct CudaSourceOptions {
  std::string name = "kernel";  ///< of the kernel; of several: with _0, _1, ... behind it
  std::string comment;          ///< first line of the text, e.g. the workload
};

/// The text, the launches and the workspace; or one sentence why the program has none. Linear in
/// the size of the text.
TENSORSMITH_INLINE Result<CudaSource, std::string>
cuda_source(const LoopProgram& program, const Target& target,
            const CudaSourceOptions& options = {});

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/codegen/cuda_source_body.hpp"
#endif
