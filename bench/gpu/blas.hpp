// cuBLAS and cuBLASLt, opened at run time, for row-major products on a device.
//
// Own design. The declarations repeat the documented interfaces; no header of CUDA is needed. Not
// here: timing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cuda/device.hpp"
#include "tensorsmith/ir/dtype.hpp"

namespace tensorsmith::bench {

/// C[m, n] = sum_k A[m, k] * B[k, n], row-major and plain.
struct GpuProduct {
  std::int64_t m = 0, n = 0, k = 0;
  DType input = DType::f32, output = DType::f32;
  cuda::DevicePointer a = 0, b = 0, c = 0;
};

/// A library that computes the product, or why it does not.
struct GpuPeer {
  std::string name, version;
  std::function<cuda::Status()> enqueue;
  std::string absent;
};

/// $TENSORSMITH_LIBCUBLAS, else libcublas of CUDA 13, 12 or 11. In f32 without TF32.
GpuPeer open_cublas(const cuda::Device& device, const GpuProduct& product);
/// $TENSORSMITH_LIBCUBLASLT, else libcublasLt of the same; its heuristic's first choice.
GpuPeer open_cublas_lt(cuda::Device& device, const GpuProduct& product);

}  // namespace tensorsmith::bench
