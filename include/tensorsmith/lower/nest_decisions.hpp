// SPDX-License-Identifier: Apache-2.0
// NestDecisions: what is decided of a nest before and while it is emitted, on CPUs. Nothing here
// adds statements.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit_context.hpp"

namespace tensorsmith::detail {

class NestDecisions : protected EmitContext {
 protected:
  using EmitContext::EmitContext;

  // emit_loops.hpp, emit_versions.hpp: loops of one nest
  std::size_t first_tile_leaf(const Emission& e) const;
  ForKind kind_of(const Emission& e, std::size_t leaf, bool is_constant) const;
  // place_lanes.hpp: vectors of reductions that end with their own loops
  void place_lanes(Emission& e, const std::vector<TermCondition>& conditions) const;
  bool reads_densely(const Emission& e, std::size_t leaf, bool is_spatial) const;
  static void cut_lanes(Emission& e, std::size_t leaf, std::int64_t lanes, std::int64_t extent);
  std::int64_t cut_rows(Emission& e, std::size_t leaf) const;
  // emit_sum_lanes.hpp: the same with a register tile behind the reduction
  std::int32_t node_of_lanes(const Emission& e, const std::vector<TermCondition>& conditions) const;
  void place_sum_lanes(Emission& e) const;
  bool place_groups_along_sum(Emission& e, std::size_t leaf, std::int64_t native,
                              std::int64_t vectors, std::int64_t extent) const;
  // emit_epilogue.hpp: elementwise readers
  bool is_sole_reader(std::int32_t stage, std::int32_t reader) const;
  // plan_padding.hpp: zero padding that the run leaves out
  void plan_padding(Emission& e);
  bool can_skip(const Emission& e, const PaddedAxis& axis, const std::vector<bool>& is_taken) const;
  bool is_in(const Emission& e, std::size_t leaf, const Constraint& c) const;
  std::int64_t rows_in_tile(const Emission& e, std::size_t row) const;
  std::int64_t find_places(const Emission& e, PaddedAxis& axis) const;
  const PaddedAxis* copied_for(const Emission& e, std::size_t leaf) const;
  // emit_body.hpp: stores and values
  std::vector<TileLoop> tile_loops(const Emission& e) const;
  // emit_tensor.hpp: tensor intrinsics
  bool fills_tile_registers(Emission& e, bool has_all_terms) const;
  void place_intrinsic(Emission& e) const;
  static void mark_tile_loops(Emission& e);
  const TensorIntrinsic* intrinsic_of_loop(const Emission& e, std::size_t leaf, ForKind kind,
                                           ExprId extent, StmtId body) const;
  bool wants_offset_sums(const Emission& e, std::size_t leaf) const;
  bool is_left_out_of_sums(const Emission& e, std::size_t leaf) const;
  // emit_unroll.hpp: steps of a reduction, one after the other
  void unroll_reduction(Emission& e) const;
  // emit_prefetch.hpp: asking for operands ahead of their use
  void place_prefetch(Emission& e) const;
  std::int32_t leaf_of_block_prefetch(const Emission& e, const TensorRead& read,
                                      const std::vector<std::int64_t>& extents) const;
};

}  // namespace tensorsmith::detail
