// SPDX-License-Identifier: Apache-2.0
// From a state to loops: placement of stages, loop bounds, steady and tail copies, register tiles.
//
// Floor 4. Own design, after lowering.md's worked examples. One pass builds the program, because
// every decision below needs the same facts (which leaves have values, which constraints are
// settled):
//   for x in 86: ... 12*x + r < 1021     -->   for x in 85: ... ; tail copy with r in 1
// A constraint is settled by the bound of a serial loop, or, where unrolled or vectorized loops
// need constant extents, by copying the loop body: steady part and tail. Where the loop that would
// be split is already there (a part of a fused loop, a loop of the reader), the tile is written
// twice and a condition in front of it chooses. What cannot be settled so becomes an If around the
// store (correct, slow, and rare).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/lower/thread_decisions.hpp"

namespace tensorsmith::detail {

class Emitter : protected ThreadDecisions {
 public:
  /// `has_shuffles`: threads that share a reduction may exchange partial results lane by lane.
  Emitter(const State& state, const Target& target, bool has_shuffles = true)
      : ThreadDecisions(state, target, has_shuffles) {}

  Result<LoopProgram, LowerError> run();
  /// Whether groups of lanes that exchange partial results lie across the ends of rows of threads.
  bool has_torn_groups() const { return has_torn_groups_; }
  /// Every nest is added to `nests` as it is emitted (CPU).
  void note_shapes(std::vector<ShapedNest>& nests) { shaped_ = &nests; }

 private:
  // emit_stage.hpp, emit_regions.hpp: placement
  StmtId emit_stage(std::int32_t stage, std::vector<Affine> base, std::vector<std::int64_t> extent,
                    std::vector<Constraint> clips, const Emission* reader = nullptr);
  StmtId emit_attached(Emission& e, std::size_t leaf,
                       StmtId (Emitter::*rest)(Emission&, std::size_t));
  std::vector<SymbolicInterval> region_of(std::int32_t stage);
  std::vector<Constraint> clip(std::int32_t stage, std::vector<SymbolicInterval>& box);
  std::vector<SymbolicInterval> reader_intervals(std::int32_t reader);
  bool is_below_active(std::int32_t stage) const;
  // emit_loops.hpp, emit_reduction.hpp, emit_versions.hpp: loops of one nest
  StmtId emit_leaf(Emission& e, std::size_t leaf);
  StmtId emit_below(Emission& e, std::size_t leaf);
  StmtId emit_loop(Emission& e, std::size_t leaf, ForKind kind, const Affine& offset, ExprId extent,
                   std::int64_t most);
  StmtId emit_reduction(Emission& e);
  StmtId emit_versions(Emission& e, std::size_t leaf);
  void settle(Emission& e, std::size_t leaf, std::int32_t settled);
  ExprId is_first_block(Emission& e);
  // emit_lanes.hpp: vectors of reductions that end with their own loops
  StmtId emit_fold(Emission& e);
  StmtId emit_row_fold(Emission& e);
  // emit_epilogue.hpp: elementwise readers
  bool covers_exactly(const Emission& e, std::size_t leaf,
                      const std::vector<SymbolicInterval>& box);
  bool can_finish(const Emission& e, std::size_t leaf, std::int32_t stage,
                  const std::vector<SymbolicInterval>& box);
  bool may_share_home(const Emission& e, std::size_t leaf, std::int32_t stage,
                      const std::vector<SymbolicInterval>& box);  // emit_in_place.hpp
  ExprId is_last_block(Emission& e);
  StmtId emit_write_back(Emission& e);
  StmtId emit_finish(Emission& e, const ExprList& point, ExprId value);
  // emit_taps.hpp: runs without their zero padding
  StmtId emit_run(Emission& e, std::size_t index);
  StmtId emit_taps(Emission& e, std::size_t leaf, const PaddedAxis& axis);
  std::optional<std::pair<ExprId, ExprId>> tap_bounds(const Emission& e, std::size_t leaf,
                                                      ExprId count);
  // emit_kernel.hpp: GPU kernels
  StmtId emit_kernel(std::int32_t stage, std::vector<std::int64_t> extent);
  StmtId wrap_kernel(StmtId body);
  void drop_guards(StmtId id, const Substitution& axes);
  void take_shared(StmtId id, std::vector<BufferId>& shared);
  // emit_threads.hpp: loops of one thread
  StmtId emit_thread_stage(Emission& e, std::vector<Constraint> clips);
  StmtId emit_thread_leaf(Emission& e, std::size_t leaf);
  StmtId emit_bound(Emission& e, std::size_t leaf, ForKind axis);
  StmtId emit_thread_loop(Emission& e, std::size_t leaf);
  StmtId emit_thread_reduction(Emission& e);
  // emit_exchange.hpp: reductions across threads
  StmtId emit_exchange(Emission& e, std::size_t next);
  StmtId emit_tree(Emission& e);
  SharingThreads settle_threads(Emission& e);
  // emit_shuffles.hpp: the same from register to register
  void emit_lane_steps(const Emission& e, const LaneExchange& x, std::int64_t count,
                       std::vector<StmtId>& parts);
  std::vector<BufferId> emit_warp_results(const Emission& e, const LaneExchange& x,
                                          std::int64_t threads, std::int64_t lanes,
                                          std::vector<StmtId>& parts);
  StmtId emit_shuffles(Emission& e, std::int64_t threads);
  // emit_vectors.hpp: vectors of one thread
  void check_vectors(StmtId id);
  bool fetch_vector_terms(StmtId id, const For& loop);
  // emit_body.hpp: stores
  StmtId emit_body(Emission& e);
  // emit_tensor.hpp: tensor intrinsics
  void make_offset_sums(Emission& e);
  void emit_offset_tile(Emission& e, BodyMode mode, std::vector<StmtId>& parts);
  StmtId emit_with_offset_sums(Emission& e, std::size_t leaf);
  ExprId with_offset(const Emission& e, ExprId source);
  StmtId emit_offset(Emission& e, const ExprList& tile_point, ExprId source);
  // emit_padding.hpp: whole tiles of tensor intrinsics
  ExprId value_or_zero(const Emission& e, const ExprList& point, ExprId value);
  ExprId is_below(Affine form, const Affine& bound);
  // emit_prefetch.hpp: asking for operands ahead of their use
  StmtId emit_prefetch(Emission& e);
  StmtId emit_block_prefetch(Emission& e);
};

}  // namespace tensorsmith::detail

#include "tensorsmith/lower/emit_body.hpp"
#include "tensorsmith/lower/emit_epilogue.hpp"
#include "tensorsmith/lower/emit_exchange.hpp"
#include "tensorsmith/lower/emit_in_place.hpp"
#include "tensorsmith/lower/emit_kernel.hpp"
#include "tensorsmith/lower/emit_lanes.hpp"
#include "tensorsmith/lower/emit_loops.hpp"
#include "tensorsmith/lower/emit_padding.hpp"
#include "tensorsmith/lower/emit_prefetch.hpp"
#include "tensorsmith/lower/emit_reduction.hpp"
#include "tensorsmith/lower/emit_regions.hpp"
#include "tensorsmith/lower/emit_shuffles.hpp"
#include "tensorsmith/lower/emit_stage.hpp"
#include "tensorsmith/lower/emit_taps.hpp"
#include "tensorsmith/lower/emit_tensor.hpp"
#include "tensorsmith/lower/emit_threads.hpp"
#include "tensorsmith/lower/emit_unroll.hpp"
#include "tensorsmith/lower/emit_vectors.hpp"
#include "tensorsmith/lower/emit_versions.hpp"
#include "tensorsmith/lower/place_lanes.hpp"
#include "tensorsmith/lower/plan_padding.hpp"
#include "tensorsmith/lower/shape_threads.hpp"
