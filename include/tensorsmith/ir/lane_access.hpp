// SPDX-License-Identifier: Apache-2.0
// Accesses to buffers of a warp: which lane's element it is.
//
// Floor 1. Own design. A buffer of scope `warp` has an element for each thread of a block: its last
// three dimensions are the threads' numbers along z, y and x, what is in front of them is the
// thread's own business. A thread writes its own element only; it reads another one as the whole
// value of a store, at x xor a power of two, which all lanes do together:
//     acc.lane[0, 0, tx] = acc[0]; barrier warp
//     acc.other[0] = acc.lane[0, 0, tx + 4 - 8*(tx floordiv 4 floormod 2)]
// The index is looked at for every thread, so it may be written in any way.
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/ir/index_at.hpp"
#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith {

constexpr std::int64_t lanes_of_warp = 32;
constexpr std::size_t num_thread_axes = 3;

/// The threads of a block along x, y and z; no variable: there is one.
struct ThreadAxes {
  VarId var[num_thread_axes];
  std::int64_t extent[num_thread_axes] = {1, 1, 1};

  std::int64_t num_threads() const { return extent[0] * extent[1] * extent[2]; }
};

/// t xor distance, a power of two.
inline ExprId xor_index(ExprPool& pool, ExprId t, std::int64_t distance) {
  const ExprId part = distance > 1 ? pool.floordiv(t, pool.int_imm(distance)) : t;
  const ExprId bit = pool.floormod(part, pool.int_imm(2));
  return pool.sub(pool.add(t, pool.int_imm(distance)), pool.mul(pool.int_imm(2 * distance), bit));
}

namespace detail {

inline bool is_number_of(const ExprPool& pool, ExprId index, VarId var, std::int64_t extent) {
  const VarRef* ref = pool.as<VarRef>(index);
  const IntImm* imm = pool.as<IntImm>(index);
  return extent == 1 && imm != nullptr ? imm->value == 0 : ref != nullptr && ref->var == var;
}

}  // namespace detail

/// 0: the element is the thread's own; d: that of the thread x xor d, in every thread of the block.
/// Nothing if the access to a buffer of a warp has no such form.
inline std::optional<std::int64_t> lane_distance(const LoopProgram& program, BufferId id,
                                                 const ExprList& indices, const ThreadAxes& axes) {
  const Buffer& buffer = program[id];
  const std::size_t rank = indices.size();
  if (rank < num_thread_axes || buffer.shape.size() != rank) {
    return std::nullopt;
  }
  for (std::size_t a = 0; a < num_thread_axes; ++a) {
    const bool fits = buffer.shape[rank - 1 - a] == axes.extent[a] &&
                      (a == 0 || detail::is_number_of(program.pool, indices[rank - 1 - a],
                                                      axes.var[a], axes.extent[a]));
    if (!fits) {
      return std::nullopt;
    }
  }
  std::int64_t distance = 0;
  for (std::int64_t x = 0; x < axes.extent[0]; ++x) {
    const auto at = index_at(program.pool, indices.back(), axes.var[0], x);
    if (!at || *at < 0 || *at >= axes.extent[0] || (x > 0 && (*at ^ x) != distance)) {
      return std::nullopt;
    }
    distance = *at ^ x;
  }
  const bool is_power = (distance & (distance - 1)) == 0 && distance < lanes_of_warp;
  return is_power ? std::optional(distance) : std::nullopt;
}

/// The load of an element of a warp's buffer, if it is the whole value.
inline const Load* lane_load(const LoopProgram& program, ExprId value) {
  const Load* load = program.pool.as<Load>(value);
  return load != nullptr && program[load->buffer].scope == Scope::warp ? load : nullptr;
}

}  // namespace tensorsmith
