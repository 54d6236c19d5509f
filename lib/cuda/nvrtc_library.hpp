// SPDX-License-Identifier: Apache-2.0
// The functions of NVRTC, found at run time.
//
// Own design. The declarations repeat the documented interface of NVRTC (CUDA toolkit, "NVRTC"),
// which is stable from 11.2 on; its header is not needed.
#pragma once

#include <cstddef>
#include <string>

#include "tensorsmith/support/result.hpp"

namespace tensorsmith::cuda {

using NvrtcProgram = struct NvrtcProgramTag*;

/// Opened once per path and never closed.
struct NvrtcLibrary {
  using Status = int;  // 0 is success, 6 a text that does not compile
  Status (*version)(int*, int*) = nullptr;
  Status (*create_program)(NvrtcProgram*, const char* text, const char* name, int,
                           const char* const*, const char* const*) = nullptr;
  Status (*destroy_program)(NvrtcProgram*) = nullptr;
  Status (*compile_program)(NvrtcProgram, int, const char* const*) = nullptr;
  Status (*log_size)(NvrtcProgram, std::size_t*) = nullptr;
  Status (*log)(NvrtcProgram, char*) = nullptr;
  Status (*cubin_size)(NvrtcProgram, std::size_t*) = nullptr;
  Status (*cubin)(NvrtcProgram, char*) = nullptr;
  const char* (*error_text)(Status) = nullptr;
  std::string path;  ///< of the file

  /// See NvrtcCompiler::open.
  static Result<NvrtcLibrary, std::string> open(const std::string& path);
};

}  // namespace tensorsmith::cuda
