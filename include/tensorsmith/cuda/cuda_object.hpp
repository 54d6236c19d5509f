// SPDX-License-Identifier: Apache-2.0
// CudaObject: a compiled program for a GPU as bytes, for the worker: code, launches, buffers.
//
// Floor 7; compiled in lib/cuda. Own design. What CudaSource says but its text, and a cubin. Both
// sides are of one build.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/codegen/cuda_launch.hpp"

namespace tensorsmith::cuda {

struct CudaObject {
  std::string code;                 ///< cubin
  std::vector<CudaBuffer> buffers;  ///< without names and types
  std::vector<CudaLaunch> launches;
  std::int64_t workspace_bytes = 0;
};

std::vector<std::byte> encode_object(const CudaSource& source, const std::string& code);
/// Nothing for bytes that are no such object, or one that does not fit together.
std::optional<CudaObject> decode_object(std::span<const std::byte> bytes);

}  // namespace tensorsmith::cuda
