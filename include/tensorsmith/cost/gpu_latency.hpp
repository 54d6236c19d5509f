// SPDX-License-Identifier: Apache-2.0
// gpu_latency: an estimate of the time that a lowered GPU program takes on a board. No learning.
//
// Floor 6. Own design, in the manner of Hong and Kim (ISCA 2009): what an SM does for the blocks
// that it holds at a time takes as long as its busiest unit, or as one warp waits if there are too
// few to hide that; the grid takes as many such turns as it has waves, or as long as DRAM. The
// simulated device (measure/simulated.hpp) runs on it. Constants below are assumptions of the
// model, to be compared with measurements; what is known of boards is in gpu_devices.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/cost/gpu_model_options.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// What a kernel's time is made of: how long each part alone would take.
struct GpuKernelTime {
  GpuWork work;
  std::int64_t num_waves = 0;
  double dram_bytes = 0, l2_bytes = 0;
  double l2_waited = 1;  ///< share of these that no copies in the background ask for
  double issue_ns = 0, arithmetic_ns = 0, shared_ns = 0, l1_ns = 0, l2_ns = 0, dram_ns = 0;
  double start_ns = 0;    ///< to start all blocks
  double waiting_ns = 0;  ///< for memory and barriers, with nothing else to run
  double ns = 0;          ///< all in all, with its launch

  /// The largest of the parts.
  std::string_view bound() const {
    struct Part {
      std::string_view name;
      double ns;
    };
    Part most{"launch", ns / 2};
    for (const Part& part :
         {Part{"instructions", issue_ns}, Part{"arithmetic", arithmetic_ns},
          Part{"shared memory", shared_ns}, Part{"L1", l1_ns}, Part{"L2", l2_ns},
          Part{"DRAM", dram_ns}, Part{"waiting", waiting_ns}, Part{"starting blocks", start_ns}}) {
      most = part.ns > most.ns ? part : most;
    }
    return most.name;
  }
};

struct GpuLatency {
  double ns = 0;
  std::vector<GpuKernelTime> kernels;
};

/// Why a program cannot run on a board.
struct GpuLimitExceeded {
  enum class Kind : std::uint8_t { threads, shared_memory, registers, grid };
  Kind kind = Kind::threads;
  std::int64_t wanted = 0, most = 0;
};

/// One sentence for a person.
TENSORSMITH_INLINE std::string explain(const GpuLimitExceeded& error);

/// `target` is a board. Deterministic; linear in the size of the program.
TENSORSMITH_INLINE Result<GpuLatency, GpuLimitExceeded>
gpu_latency(const LoopProgram& program, const Target& target, const GpuModelOptions& options = {});

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/cost/gpu_latency_body.hpp"
#endif
