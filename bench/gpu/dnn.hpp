// SPDX-License-Identifier: Apache-2.0
// cuDNN, opened at run time: convolutions, softmax and layernorm on a device, in f32.
//
// Own design. The declarations repeat the documented interfaces; no header of NVIDIA's is needed.
// $TENSORSMITH_CUDNN, else libcudnn.so.9 or libcudnn.so.8. Where there is a choice (algorithms,
// layouts, modes) all are timed and the fastest one is the peer. Memory lives as long as the
// process. Not here: timing (contest.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "bench/gpu/contest.hpp"
#include "tensorsmith/ops/op.hpp"

namespace tensorsmith::bench {

/// A handle on the device's stream; null handle: `absent` says why.
struct Cudnn {
  void* library = nullptr;
  void* handle = nullptr;
  std::string version, absent;
};
Cudnn open_cudnn(const cuda::Device& device);
/// Nothing to enqueue yet; absent if cuDNN is.
GpuPeer peer_of(const Cudnn& cudnn);

inline constexpr int dnn_f32 = 0;  ///< of cudnnDataType_t

/// Rank 2, neither transposed nor with an epilogue; products and sums in f32 (CUDNN_FMA_MATH).
/// Activations stay as they are, or are in the other layout beforehand if that is faster; weights
/// are rearranged beforehand.
GpuPeer open_cudnn_convolution(cuda::Device& device, const ops::ConvParams& params,
                               cuda::DevicePointer x, cuda::DevicePointer w, cuda::DevicePointer y);

/// Of every row, without overflow (CUDNN_SOFTMAX_ACCURATE).
GpuPeer open_cudnn_softmax(cuda::Device& device, std::int64_t rows, std::int64_t columns,
                           cuda::DevicePointer x, cuda::DevicePointer y);

/// Of every row; one operation of a graph, which cuDNN has had since 8.5.
GpuPeer open_cudnn_layernorm(cuda::Device& device, std::int64_t rows, std::int64_t columns,
                             cuda::DevicePointer x, cuda::DevicePointer gamma,
                             cuda::DevicePointer beta, cuda::DevicePointer y);

}  // namespace tensorsmith::bench
