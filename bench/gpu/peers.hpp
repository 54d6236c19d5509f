// SPDX-License-Identifier: Apache-2.0
// Which libraries compute a workload: its parameters and where its arguments are.
#pragma once

#include <vector>

#include "bench/gpu/contest.hpp"
#include "tensorsmith/ops/workload.hpp"

namespace tensorsmith::bench {

/// Products: cuBLAS and cuBLASLt; convolutions, softmax and layernorm of f32: cuDNN; else none.
/// `arguments`: in the dag's order. `is_tf32`: f32 factors may be rounded.
std::vector<GpuPeer> library_peers(cuda::Device& device, const ops::Workload& workload,
                                   const std::vector<cuda::DevicePointer>& arguments, bool is_tf32);

/// One after the other on the stream, as one peer of that name: absent if one of them is.
GpuPeer sequence_of(std::string name, const std::vector<GpuPeer>& parts);

}  // namespace tensorsmith::bench
