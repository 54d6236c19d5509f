// SPDX-License-Identifier: Apache-2.0
// How many blocks of a complete GPU program a board holds at a time.
//
// Floor 7. Own design. An estimate from the state alone. Not here: what a lowered program needs
// (cost/gpu_work.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/cost/gpu_work.hpp"
#include "tensorsmith/search/population/fit_block.hpp"

namespace tensorsmith::detail {

/// Of one multiprocessor; 0: not even one.
inline std::int64_t blocks_held(const GpuLimits& gpu, const BlockNeeds& block) {
  constexpr std::int32_t other_registers = 16;  // operands; the tile itself is counted
  return gpu_blocks_per_sm(gpu, block.threads, block.buffered_bytes,
                           static_cast<std::int32_t>(block.registers() + other_registers));
}

}  // namespace tensorsmith::detail
