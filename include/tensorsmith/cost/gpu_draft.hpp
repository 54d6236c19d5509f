// SPDX-License-Identifier: Apache-2.0
// The latency model of GPUs as a draft: its total, and what that is made of.
//
// Floor 6. So searches rank, seed and correct programs for GPUs as they do those for CPUs
// (cost/draft_model.hpp).
#pragma once

#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"

namespace tensorsmith {

/// In nanoseconds of one run, all kernels together.
inline DraftParts gpu_draft_parts(const GpuLatency& latency) {
  DraftParts parts;
  parts.total = latency.ns;
  for (const GpuKernelTime& kernel : latency.kernels) {
    parts.core += larger_of(kernel.issue_ns, kernel.arithmetic_ns);
    parts.tiles += kernel.waiting_ns;
    parts.ahead += kernel.start_ns;
    parts.levels[0] += kernel.shared_ns;
    parts.levels[1] += kernel.l1_ns;
    parts.levels[2] += kernel.l2_ns;
    parts.levels[3] += kernel.dram_ns;
  }
  return parts;
}

}  // namespace tensorsmith
