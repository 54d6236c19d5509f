// SPDX-License-Identifier: Apache-2.0
// Tuning for a GPU of this machine: building with NVRTC, measuring in a worker.
//
// Private to lib/. Own design. Only where the CUDA back end is built (TENSORSMITH_HAS_CUDA).
#pragma once

#include <string>

#include "tensorsmith/measure/worker_measurer.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/tune/candidate_builder.hpp"

namespace tensorsmith {

/// Compiles on all cores; compiled code is kept in the user's cache folder. What exceeds a limit of
/// the device is a fault. Throws Error where there is no NVRTC, or one whose code the device's
/// driver does not load.
Owned<CandidateBuilder> make_cuda_builder(const Target& target);

/// A worker that runs candidates on the target's device; the peak is that of the device's data.
Owned<Measurer> make_cuda_measurer(const Target& target, const WorkerOptions& options);

/// The name of the target's device, for records.
std::string cuda_device_name(const Target& target);

}  // namespace tensorsmith
