// SPDX-License-Identifier: Apache-2.0
// Stands for cuda_device.cpp in builds without the CUDA back end.
#if !defined(TENSORSMITH_HAS_CUDA)

#include "tensorsmith/support/error.hpp"
#include "tune/cuda_device.hpp"

namespace tensorsmith {

Owned<CandidateBuilder> make_cuda_builder(const Target&) {
  throw Error("tune: this build has no CUDA back end");
}
Owned<Measurer> make_cuda_measurer(const Target&, const WorkerOptions&) {
  throw Error("tune: this build has no CUDA back end");
}
std::string cuda_device_name(const Target& target) { return target.name; }

}  // namespace tensorsmith

#endif
