// SPDX-License-Identifier: Apache-2.0
// Loops of what one thread of a kernel does: which of them the compiler writes out, and what that
// makes of the waits inside.
//
// Floor 6. Part of gpu_work_reader.hpp. Own design.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/cost/gpu_work_reader.hpp"

namespace tensorsmith::detail {

inline GpuWorkReader::Path GpuWorkReader::walk_for(const For& loop) {
  if (is_block_loop(loop.kind) || is_thread_loop(loop.kind)) {
    return walk(loop.body);
  }
  const std::int64_t extent = extent_of(loop);
  if (const auto tile = gpu_tensor_tile(program_, loop, &lanes_)) {
    return walk_tile(*tile, *loop.intrinsic);
  }
  const For* inner = loop.load_sets > 1 ? program_.as<For>(loop.body) : nullptr;
  if (const auto tile = inner != nullptr ? gpu_tensor_tile(program_, *inner) : std::nullopt) {
    // Those of one step are counted with the instruction.
    kept_bytes_ += 4 * larger_of(0.0, loop.load_sets * tile->fragment_registers - tile->registers);
  }
  // Nothing is shared across a barrier.
  std::int64_t factor =
      is_expanded(loop.kind)   ? extent
      : has_barrier(loop.body) ? 1
      : is_own_text_
          ? serial_unroll_factor(extent, copies_ * num_unrolled_stores(program_, loop.body))
          : compiler_.factor(loop);
  extents_.set(loop.var, extent);
  footprint_.add({loop.var, extent, loop.kind, 1});
  // Where the text says nothing, the compiler writes out no loops with many quotients that differ
  // from turn to turn: NVRTC 13.0 writes out 24 turns with two and 10 with four, and leaves 40 with
  // two and 30 with three as they are.
  constexpr double most_quotients = 64;
  if (!is_expanded(loop.kind) && factor == extent) {
    std::vector<ExprId> quotients;
    find_quotients(loop.body, footprint_.bit_of(loop.var), quotients);
    const double count = static_cast<double>(quotients.size());
    factor = static_cast<double>(extent) * copies_ * count > most_quotients ? 1 : factor;
  }
  const std::int64_t turns = extent / factor;
  const std::size_t outside = open_.size();
  if (turns > 1 || factor == 1) {
    open_.push_back({loop.var, turns, ForKind::serial, factor});
  }
  if (factor > 1) {
    open_.push_back({loop.var, factor, is_expanded(loop.kind) ? loop.kind : ForKind::unrolled, 1});
  }
  copies_ *= static_cast<double>(factor);
  const double passes = work_.shared_passes;
  Path path = walk(loop.body);
  work_.passes_ahead += loop.load_sets > 1 ? work_.shared_passes - passes : 0;
  copies_ /= static_cast<double>(factor);
  // What stays a loop inside of a straight line is there as often as that has copies.
  const double times = static_cast<double>(path.has_serial ? extent : turns);
  if (turns > 1) {
    GpuUse count;
    count.instructions = 3;  // count, compare, branch
    path.use.add(count);
    work_.add(count, all_times() / static_cast<double>(factor));
  }
  while (open_.size() > outside) {
    open_.pop_back();
  }
  if (turns == 1 && !path.has_serial && !path.has_barrier) {
    return path;  // counted with what is inside
  }
  path.has_serial = true;
  if (path.has_barrier) {
    end_stretch(path);
    path.clocks *= static_cast<double>(extent);
    return path;
  }
  const GpuUse once = path.use;
  path.use = GpuUse{};
  path.use.add(once, times);
  path.chain *= times;
  // Operands that are loaded ahead are waited for once. The compiler loads nothing ahead for the
  // next turn of a loop.
  path.latency = loop.load_sets > 1 ? path.longest : path.latency * times;
  if (turns > 1 && factor > 1 && copies_to_shared(loop.body)) {
    // Nothing is under way from one turn to the next: the last load is waited for before what it
    // brings is stored, and then the first one of the next turn. In a straight line both overlap.
    path.latency += 2 * path.longest * (times - 1);
  }
  path.near = loop.load_sets > 1 ? path.nearest : path.near * times;
  return path;
}

inline GpuWorkReader::Path GpuWorkReader::walk_tile(const GpuTensorTile& tile,
                                                    const TensorIntrinsic& intrinsic) {
  // Hopper's full rate is that of instructions of four warps; those of one warp reach 0.63 of it,
  // of every type (Luo et al. 2024).
  const double reached = gpu_.compute_capability == 90 && intrinsic.warps == 1 ? 0.63 : 1;
  Path path;
  path.use.instructions = tile.instructions;
  path.use.tensor = tile.products / reached;
  path.use.shared_passes = tile.shared_passes;
  path.near = path.nearest = delays_.shared;
  path.chain = delays_.tensor;
  path.has_serial = true;
  const double executed = all_times();
  work_.add(path.use, executed);
  accumulations_ += tile.accumulators * executed;
  operands_ = larger_of(operands_, tile.registers);
  return path;
}

}  // namespace tensorsmith::detail
