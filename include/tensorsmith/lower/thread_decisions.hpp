// SPDX-License-Identifier: Apache-2.0
// ThreadDecisions: what is decided of the loops of one thread, on GPUs. Nothing here adds
// statements.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/nest_decisions.hpp"

namespace tensorsmith::detail {

class ThreadDecisions : protected NestDecisions {
 protected:
  using NestDecisions::NestDecisions;

  // emit_kernel.hpp: GPU kernels
  Scope scope_of_attached(std::int32_t stage) const;
  void relax(SymbolicInterval& interval) const;
  bool is_thread_var(VarId var) const;
  // shape_threads.hpp: loops of one thread
  void shape_threads(Emission& e) const;
  std::vector<AxisUse> threads_around(std::size_t depth) const;
  void guard_threads(Emission& e);
  void check_private_operands(const Emission& e, std::int32_t stage);
  std::int64_t bound_of(const Emission& e, std::size_t leaf, std::vector<std::size_t>& settled);
  // emit_exchange.hpp: reductions across threads
  ExprList tile_point(const Emission& e);
  // emit_shuffles.hpp: the same from register to register
  std::int64_t shuffled_threads(const Emission& e) const;
  // emit_vectors.hpp: vectors of one thread
  bool is_vector_access(VarId lane, std::int64_t lanes, ExprId id);
  void find_vector_terms(VarId lane, std::int64_t lanes, ExprId id, std::vector<ExprId>& found);
  // emit_tensor.hpp: tensor intrinsics
  void place_warp_intrinsic(Emission& e) const;
  // emit_padding.hpp: whole tiles of tensor intrinsics
  bool is_padded_copy(std::int32_t stage) const;
  bool keeps_box(std::int32_t stage) const;
  const TensorIntrinsic* held_instruction(std::int32_t stage) const;
  void widen_to_tile(Emission& e, std::vector<Constraint>& clips) const;
  std::int32_t copy_to_pad(const Emission& e, const TensorRead& read, bool overruns) const;
  void pad_warp_product(Emission& e);
  void pad_copy(Emission& e, std::vector<Constraint>& clips) const;
  void drop_implied(Nest& nest) const;
};

}  // namespace tensorsmith::detail
