// SPDX-License-Identifier: Apache-2.0
// Stands for the header of CUDA's runtime: memory of the device is memory of the host, and kernels
// run at once, by the shim, which must have been included before. What a device refuses is refused:
// a launch with more than 48 KiB of dynamic shared memory that were not asked for.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>

#ifndef TENSORSMITH_CUDA_SHIM
#error "compile with -include tests/support/cuda_shim.hpp"
#endif

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorLaunchFailure = 719 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
using cudaStream_t = struct FakeStream*;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : x(nx), y(ny), z(nz) {}
};

namespace fake_runtime {
inline std::map<const void*, std::size_t> most_shared_bytes;
}

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidValue ? "invalid argument" : "unspecified launch failure";
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute, int value) {
  fake_runtime::most_shared_bytes[reinterpret_cast<const void*>(kernel)] =
      static_cast<std::size_t>(value);
  return cudaSuccess;
}
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t) {
  const auto asked = fake_runtime::most_shared_bytes.find(reinterpret_cast<const void*>(kernel));
  const std::size_t most =
      asked == fake_runtime::most_shared_bytes.end() ? 48 * 1024 : asked->second;
  if (shared_bytes > most) {
    return cudaErrorInvalidValue;
  }
  void* pointers[sizeof...(P) + 1];
  for (std::size_t i = 0; i < sizeof...(P); ++i) {
    pointers[i] = *static_cast<void**>(arguments[i]);
  }
  const long long blocks[] = {grid.x, grid.y, grid.z}, threads[] = {block.x, block.y, block.z};
  const char* const problem =
      cuda_shim::launch(kernel, pointers, blocks, threads, static_cast<long long>(shared_bytes), 0);
  return problem == nullptr ? cudaSuccess : cudaErrorLaunchFailure;
}
