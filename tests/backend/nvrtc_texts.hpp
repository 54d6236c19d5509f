// SPDX-License-Identifier: Apache-2.0
// Texts of programs for GPUs through NVRTC.
#pragma once

#include "support/catch.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::test {

/// Whether the board can launch every kernel of the text, and NVRTC is not long at it.
inline bool is_worth_compiling(const CudaSource& source, const GpuLimits& gpu) {
  return all_items(source.launches, [&](const CudaLaunch& launch) {
    return check_launch(launch, gpu).has_value() && check_arrays(launch, gpu).has_value() &&
           compiles_soon(launch);
  });
}

/// That it compiles, to as many kernels as are launched, within the registers of a thread.
inline void check_compiled(const NvrtcCompiler& compiler, const CudaSource& source,
                           const GpuLimits& gpu) {
  const auto cubin = compiler.compile({source.text, nvrtc_architecture(gpu)});
  INFO((cubin ? "" : cubin.error()));
  REQUIRE(cubin.has_value());
  CHECK(cubin->kernels.size() == source.launches.size());
  for (const CubinKernel& kernel : cubin->kernels) {
    CHECK(kernel.num_registers <= gpu.max_registers_per_thread);
  }
}

}  // namespace tensorsmith::test
