// SPDX-License-Identifier: Apache-2.0
// cuBLAS and cuBLASLt, opened at run time, for row-major products on a device.
//
// Own design. The declarations repeat the documented interfaces; no header of CUDA is needed. Not
// here: timing.
#pragma once

#include <cstdint>

#include "bench/gpu/contest.hpp"
#include "tensorsmith/ir/dtype.hpp"

namespace tensorsmith::bench {

/// C[b, m, n] = sum_k A[b, m, k] * B[b, k, n], row-major; a transposed A is [b, k, m], B [b, n, k].
struct GpuProduct {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType input = DType::f32, output = DType::f32;
  bool is_tf32 = false;  ///< 10 bits of the fraction of each f32 are enough
  cuda::DevicePointer a = 0, b = 0, c = 0;
};

/// $TENSORSMITH_LIBCUBLAS, else libcublas of CUDA 13, 12 or 11.
GpuPeer open_cublas(const cuda::Device& device, const GpuProduct& product);
/// $TENSORSMITH_LIBCUBLASLT, else libcublasLt of the same; its heuristic's first choice. One
/// product of matrices that are not transposed.
GpuPeer open_cublas_lt(cuda::Device& device, const GpuProduct& product);

}  // namespace tensorsmith::bench
