// SPDX-License-Identifier: Apache-2.0
// gpu_tensor_tile: what a warp does for one loop that tensor cores compute.
//
// Floor 6. Own design; follows codegen/cuda_tensor.hpp: every fragment is loaded once, of shared
// memory, 4 registers of a and 2 of b, each of them a pass over the banks or more, by rows of 16
// bytes or by elements that are put together. Operands elsewhere are counted as the loops they are.
#pragma once

#include <optional>

#include "tensorsmith/cost/gpu_access.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/tensor_match.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// Of one execution by one warp.
struct GpuTensorTile {
  double instructions = 0, shared_passes = 0;
  double products = 0;            ///< of one lane; those of n bytes count n / 2
  double registers = 0;           ///< of a lane, for fragments
  double fragment_registers = 0;  ///< of a lane, for all fragments at once
  double accumulators = 0;        ///< of a lane, added to; each as often as an instruction does so
};

namespace detail {

/// What a warp does to load one fragment.
struct GpuFragment {
  double instructions = 1, shared_passes = 0;
};

/// `lanes` knows the threads of a warp; `k` is the variable of the depth.
inline GpuFragment gpu_fragment(const LoopProgram& program, const Load& load, VarId k,
                                LaneEvaluator& lanes) {
  const Buffer& buffer = program[load.buffer];
  const std::int64_t size = bytes_of(buffer.dtype), per_word = 4 / size;
  const Lanes at = lanes.addresses(buffer, load.indices);
  lanes.set(k, 1);
  const std::int64_t step = lanes.addresses(buffer, load.indices)[0] - at[0];
  lanes.set(k, 0);
  const bool is_a = at[4] != at[0];  // rows go with the lanes' upper bits, columns with the lower
  const std::int64_t line = is_a ? at[4] - at[0] : (at[1] - at[0]) / 2;
  const double registers = is_a ? 4 : 2;
  Lanes places;
  if ((step == size && line % 16 == 0) ||
      (!is_a && line == size && size == 2 && step % 16 == 0)) {  // matrices of 8 rows each
    for (std::size_t row = 0; row < warp_lanes; ++row) {
      places[row] = static_cast<std::int64_t>(row) * (step == size ? line : step);
    }
    return {1, registers * shared_passes(places, 16, 0xFF)};
  }
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
    const auto row = static_cast<std::int64_t>(lane / 4),
               depth = static_cast<std::int64_t>(lane % 4);
    places[lane] = row * line + depth * per_word * step;
  }
  const double loads = step == size && line % 4 == 0 ? 1 : static_cast<double>(per_word);
  return {registers * (2 * loads - 1), registers * loads * shared_passes(places, size, all_lanes)};
}

}  // namespace detail

/// Nothing if the loop is no intrinsic of a warp. Without `lanes` all fragments are rows of 16
/// bytes in banks of their own.
inline std::optional<GpuTensorTile> gpu_tensor_tile(const LoopProgram& program, const For& loop,
                                                    LaneEvaluator* lanes = nullptr) {
  const TensorIntrinsic* intrinsic = loop.intrinsic;
  if (intrinsic == nullptr || intrinsic->ptx.empty()) {
    return std::nullopt;
  }
  const ExprPool& pool = program.pool;
  const Store* store = nullptr;
  TensorUpdate update;
  double products = intrinsic->k, fragments_a = 0.5, fragments_b = 0.5;  // each has two of a loop
  for (const bool is_counting : {false, true}) {
    StmtId at = loop.body;
    while (const For* inner = program.as<For>(at)) {
      const IntImm* extent = pool.as<IntImm>(inner->extent);
      if (extent == nullptr) {
        return std::nullopt;
      }
      const double times = static_cast<double>(extent->value);
      const auto moves = [&](const Load& load) {
        bool is_used = false;
        for (const ExprId index : load.indices) {
          is_used = is_used || uses_var(pool, index, inner->var);
        }
        return is_used;
      };
      if (is_counting) {
        products *= times;
        fragments_a *= moves(*update.a.load) ? times : 1;
        fragments_b *= moves(*update.b.load) ? times : 1;
      }
      at = inner->body;
    }
    store = program.as<Store>(at);
    update = store != nullptr ? match_tensor_update(program, *store, *intrinsic) : TensorUpdate{};
    if (!update || update.a.load == nullptr || update.b.load == nullptr ||
        program[update.a.load->buffer].scope != Scope::shared ||
        program[update.b.load->buffer].scope != Scope::shared) {
      return std::nullopt;
    }
  }
  GpuTensorTile tile;
  const double issued = products * 32 / (intrinsic->m * intrinsic->n * intrinsic->k);
  tile.products = products * bytes_of(intrinsic->a) / 2;
  tile.accumulators = issued * intrinsic->m * intrinsic->n / 32;
  if (intrinsic->warps > 1) {
    // Operands are read by the instruction, once for up to 256 columns: lines of 128 bytes. Here
    // fragments count 16 rows, or 8 columns, of a warp.
    const double depth_bytes = static_cast<double>(intrinsic->k) * bytes_of(intrinsic->a);
    tile.instructions = larger_of(1.0, fragments_b / 32) * fragments_a;
    tile.shared_passes =
        (fragments_a * 16 + fragments_b * fragments_a * 8 / intrinsic->warps) * depth_bytes / 128;
    return tile;
  }
  detail::GpuFragment a{1, 4}, b{1, 2};
  if (lanes != nullptr) {
    a = detail::gpu_fragment(program, *update.a.load, loop.var, *lanes);
    b = detail::gpu_fragment(program, *update.b.load, loop.var, *lanes);
  }
  tile.instructions = issued + fragments_a * a.instructions + fragments_b * b.instructions;
  tile.shared_passes = fragments_a * a.shared_passes + fragments_b * b.shared_passes;
  tile.registers = 2 * fragments_b + 4;
  tile.fragment_registers = 4 * fragments_a + 2 * fragments_b;
  return tile;
}

}  // namespace tensorsmith
