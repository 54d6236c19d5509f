// SPDX-License-Identifier: Apache-2.0
// CudaSource: a program for a GPU as text, with what a caller must know to launch it.
//
// Floor 5. Own design. Plain data: no loop program is needed any more to compile, check or run it.
// Not here: printing (cuda_source.hpp), compiling (nvrtc.hpp), memory and streams.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// Device memory that kernels work on. Its address must be a multiple of 16 bytes.
struct CudaBuffer {
  std::string name;  ///< as in the program, not necessarily an identifier
  DType dtype = DType::f32;
  std::int64_t num_bytes = 0;  ///< including padding
  std::int32_t argument = -1;  ///< position among the program's arguments; -1: in the workspace
  std::int64_t workspace_offset = 0;  ///< bytes, a multiple of 256; of buffers in the workspace
  bool is_written = false;            ///< by any kernel
};

/// One launch; launches run one after another, in order.
struct CudaLaunch {
  std::string kernel;
  std::array<std::int64_t, 3> grid{1, 1, 1};   ///< x, y, z
  std::array<std::int64_t, 3> block{1, 1, 1};  ///< x, y, z
  std::int64_t static_shared_bytes = 0;
  std::int64_t dynamic_shared_bytes = 0;  ///< to be given at the launch
  std::int64_t private_bytes = 0;         ///< of the arrays of one thread, at most at once
  double num_stores = 0;                  ///< elements stored by its text once it is unrolled
  std::vector<std::int32_t> buffers;      ///< one pointer each, in order: into CudaSource::buffers

  std::int64_t num_threads() const { return block[0] * block[1] * block[2]; }
  std::int64_t shared_bytes() const { return static_shared_bytes + dynamic_shared_bytes; }
};

struct CudaSource {
  std::string text;                 ///< a whole translation unit, for NVRTC or nvcc
  std::vector<CudaBuffer> buffers;  ///< the arguments in order, then the workspace's
  std::vector<CudaLaunch> launches;
  std::int64_t workspace_bytes = 0;
};

/// Whether a launch keeps the limits of a device class; if not, one sentence. What is not known
/// before compiling (registers) is in nvrtc.hpp.
inline Result<Done, std::string> check_launch(const CudaLaunch& launch, const GpuLimits& limits) {
  const auto too_many = [&](const std::string& what, std::int64_t value, std::int64_t limit) {
    return fail("kernel " + launch.kernel + " needs " + std::to_string(value) + " " + what +
                ", the device has at most " + std::to_string(limit));
  };
  constexpr std::array<std::int64_t, 3> grid_limits{INT32_MAX, 65535, 65535};  // CUDA guide
  constexpr std::array<std::int64_t, 3> block_limits{1024, 1024, 64};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string axis(1, "xyz"[i]);
    if (launch.grid[i] > grid_limits[i]) {
      return too_many("blocks along " + axis, launch.grid[i], grid_limits[i]);
    }
    if (launch.block[i] > block_limits[i]) {
      return too_many("threads of a block along " + axis, launch.block[i], block_limits[i]);
    }
  }
  if (launch.num_threads() > limits.max_threads_per_block) {
    return too_many("threads in a block", launch.num_threads(), limits.max_threads_per_block);
  }
  const std::int64_t shared_limit = launch.dynamic_shared_bytes > 0
                                        ? limits.max_shared_memory_optin_bytes
                                        : limits.max_shared_memory_bytes;
  if (launch.shared_bytes() > shared_limit) {
    return too_many("bytes of shared memory in a block", launch.shared_bytes(), shared_limit);
  }
  return Done{};
}

/// Whether registers can hold the arrays of a thread; if not, one sentence. Such a kernel is right
/// all the same, but compiling it takes up to minutes, and it is slow.
inline Result<Done, std::string> check_arrays(const CudaLaunch& launch, const GpuLimits& limits) {
  const std::int64_t register_bytes = std::int64_t{4} * limits.max_registers_per_thread;
  if (launch.private_bytes > register_bytes) {
    return fail("kernel " + launch.kernel + " needs " + std::to_string(launch.private_bytes) +
                " bytes for the arrays of a thread in registers, the device has at most " +
                std::to_string(register_bytes));
  }
  return Done{};
}

/// Whether the compiler is done with a kernel soon. Its time grows with the text once that is
/// unrolled, and such a text is no faster: a thread that computes 8 x 8 elements, two steps of the
/// reduction at a time, has 64 * (1 + 2 + 1) stores.
inline bool compiles_soon(const CudaLaunch& launch) {
  constexpr double most_stores = 512;
  return launch.num_stores <= most_stores;
}

}  // namespace tensorsmith
