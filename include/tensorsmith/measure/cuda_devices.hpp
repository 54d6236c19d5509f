// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine, and targets that run on them.
//
// Floor 6; defined in lib/cuda. Own design. The driver is opened when it is first asked; a machine
// without one gets a sentence. Nothing is run on a GPU here, that is the worker's business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct CudaDevice {
  std::int32_t number = 0;              ///< as the driver counts
  std::string name;                     ///< "NVIDIA H200"
  std::string uuid;                     ///< "GPU-..."
  std::int32_t compute_capability = 0;  ///< 10 * major + minor
  std::int64_t memory_bytes = 0;
  GpuBoard board;
  std::string driver;  ///< version, "12.4"
};

/// All of them, in the driver's order. Error: one sentence why there is none.
Result<std::vector<CudaDevice>, std::string> list_cuda_devices();

/// A target that code is run on: "cuda" (the first device), "cuda:1", a class ("sm_90", "sm_90a")
/// or a board ("h200"): the first device of that kind. Its name is that of the board if it is a
/// known one, else of the class. Error: one sentence, with what there is instead.
Result<Target, std::string> cuda_device_target(const std::string& name);

/// Whether the name is one that cuda_device_target() may know: a GPU, and not a simulated one.
bool is_cuda_device_name(const std::string& name);

}  // namespace tensorsmith
