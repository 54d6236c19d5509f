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

#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower_error.hpp"
#include "tensorsmith/lower/region.hpp"
#include "tensorsmith/lower/shape_nest.hpp"
#include "tensorsmith/lower/share_factors.hpp"
#include "tensorsmith/lower/term_conditions.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::detail {

/// Where a tensor's elements live: index - origin, cut into pieces by a storage layout.
struct TensorHome {
  BufferId buffer;
  std::vector<Affine> origin;
  const StorageLayoutStep* layout = nullptr;
};

/// What the innermost body does.
/// The last three: what an intrinsic with an offset adds too much (emit_tensor.hpp).
enum class BodyMode : std::uint8_t {
  compute,
  initialize,
  update,
  write_back,
  finish,
  offset_zero,
  offset_sum,
  take_off
};

/// The term counts where form >= 0.
struct TermForm {
  ExprId comparison;
  Affine form;  ///< over the placeholders of the leaves
};

/// Rows of a tile, begin <= row < end; end 0: all.
struct TileRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const TileRange&) const = default;
};

/// low <= outer + sum of coefficient * leaf <= high, or the terms of the run do not count.
struct PaddedAxis {
  struct Term {
    std::size_t leaf;
    std::int64_t coefficient;
    bool operator==(const Term&) const = default;
  };
  Affine outer;                 ///< of the loops around the run, which have values
  std::vector<Term> run, tile;  ///< loops of the run, outermost first; of the register tile
  std::optional<std::int64_t> low, high;
  std::vector<ExprId> comparisons;
  // With a loop of the tile:
  std::int64_t rows = 0;              ///< extent of that loop
  std::vector<std::int64_t> borders;  ///< values of outer at which padding is seen
  bool has_interior = false;          ///< there are others
  std::optional<std::int64_t> place;  ///< outer in the copy that is being emitted; none: interior

  /// The rows of the tile that are inside when everything else adds up to `sum`.
  TileRange rows_inside(std::int64_t sum) const {
    const std::int64_t c = tile.front().coefficient;
    TileRange found{rows, 0};
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = sum + c * row;
      if ((!low || at >= *low) && (!high || at <= *high)) {
        found.begin = smaller_of(found.begin, row);
        found.end = row + 1;
      }
    }
    return found;
  }
};

struct Emission {
  Nest nest;
  NestShape shape;
  const Operation* op = nullptr;
  BodyMode mode = BodyMode::compute;
  std::vector<BufferId> accumulators;    ///< register tile; empty = accumulate in memory
  std::vector<BufferId> temporaries;     ///< for reductions with several outputs
  std::vector<std::size_t> tile_leaves;  ///< on GPUs: the dimensions of the accumulators
  std::vector<ExprId> guards;  ///< on GPUs: which threads store; innermost condition first
  std::vector<std::int32_t> padded_copies;  ///< on GPUs: it reads them behind their ends
  std::vector<std::size_t> zero_axes;       ///< a padded copy's, behind whose ends it is zero
  bool is_reading_partial = false;          ///< initialize copies the stored partial result
  bool is_tile_indexed = false;             ///< a loop of the tile stays a loop
  std::int32_t lane_leaf = -1;       ///< the tile is this part of a reduction loop (emit_lanes.hpp)
  std::int32_t sum_node = -1;        ///< the loop that lane_leaf is cut off, behind a tile
  const Emission* reader = nullptr;  ///< its elements are written in place of our own
  std::vector<TermForm> conditions;  ///< of the terms of its reduction
  std::vector<ExprId> solved;        ///< comparisons that are true by the values of loops
  // Of the run that is being emitted:
  std::vector<PaddedAxis> padded;
  std::vector<ExprId> holds;          ///< comparisons that its loops see to
  std::vector<TileRange> tile_range;  ///< per leaf
  /// Lines of an operand are asked for in front of this leaf, whenever the tile is updated; -1 =
  /// no.
  std::int32_t prefetch_leaf = -1;
  /// The reduction loop around the tiles whose next iteration they are for; -1 = of a later step.
  std::int32_t prefetched_block = -1;
  /// Computes the loop of leaf `tensor_leaf`, the last of its run, and all inside of it.
  const TensorIntrinsic* intrinsic = nullptr;
  std::int32_t tensor_leaf = -1;
  bool has_tiles = false;     ///< its accumulators are tile registers
  std::vector<bool> moves_b;  ///< per leaf: whether operand b depends on it
  bool is_a_first = true;     ///< in the product
  bool is_summing = false;    ///< the sums of this step are written
  BufferId offset_sums;       ///< a_offset * sum(b) of the run, where the intrinsic has one
};

/// One hardware axis in one kernel. Loops of several extents may be bound to it.
struct AxisBinding {
  ForKind axis;
  VarId var;
  std::int64_t extent;
};

/// A loop that has the value of a thread axis.
struct AxisUse {
  ForKind axis;
  ExprId value;
  std::int64_t extent;
};

/// Dimension `dimension` of a shared buffer is as long as the axis of a thread's placeholder.
struct ThreadRows {
  BufferId buffer;
  std::size_t dimension;
  ExprId placeholder;
};

/// What is known of a kernel (GPU targets) while its body is emitted.
struct Kernel {
  std::vector<AxisBinding> bindings;  ///< one per axis and extent
  /// Placeholders for the thread axes, for those that do not know whether the kernel has them.
  VarId any_thread[3];
  std::vector<VarId> thread_vars;  ///< of threads and virtual threads
  std::vector<ThreadRows> rows;
  std::int32_t fetch_stages = 1;   ///< buffers of a shared copy
  std::int32_t load_sets = 1;      ///< of registers, for what a tile reads of them
  std::int32_t stream_blocks = 0;  ///< share all sums out; 0: every tile has a block
  std::vector<BufferId> parts;     ///< of sums that lie in two blocks
  std::int64_t num_vthreads = 1;   ///< that the body being emitted is repeated for
  std::int64_t lanes = 1;          ///< the largest group that exchanges partial results
};

struct LaneExchange;

/// Which threads share a reduction, by its loops over threads.
struct SharingThreads {
  std::vector<ExprId> inside;            ///< conditions of those that share it
  std::vector<ExprId> outside;           ///< of the others, behind those of the stage
  Affine number;                         ///< of the thread among those that share
  std::int64_t count = 1;                ///< of those
  ExprList others;                       ///< numbers of the thread along the other loops
  SmallVector<std::int64_t, 6> extents;  ///< of those loops
};

/// A tensor that is read at one point only, where its value is known.
struct FinishedTensor {
  TensorId tensor;
  ExprList point;
  ExprId value;
};

class Emitter {
 public:
  /// `has_shuffles`: threads that share a reduction may exchange partial results lane by lane.
  Emitter(const State& state, const Target& target, bool has_shuffles = true)
      : state_(state), target_(target), program_(state.dag().pool_ptr()),
        is_gpu_(target.kind == TargetKind::cuda), has_shuffles_(has_shuffles) {
    if (is_gpu_) {
      extents_.reduce_quotients();
    }
  }

  Result<LoopProgram, LowerError> run();
  /// Whether groups of lanes that exchange partial results lie across the ends of rows of threads.
  bool has_torn_groups() const { return has_torn_groups_; }
  /// Every nest is added to `nests` as it is emitted (CPU).
  void note_shapes(std::vector<ShapedNest>& nests) { shaped_ = &nests; }

 private:
  // emit_stage.hpp: placement
  StmtId emit_stage(std::int32_t stage, std::vector<Affine> base, std::vector<std::int64_t> extent,
                    std::vector<Constraint> clips, const Emission* reader = nullptr);
  StmtId emit_attached(Emission& e, std::size_t leaf,
                       StmtId (Emitter::*rest)(Emission&, std::size_t));
  std::vector<SymbolicInterval> region_of(std::int32_t stage);
  std::vector<SymbolicInterval> reader_intervals(std::int32_t reader);
  bool is_below_active(std::int32_t stage) const;
  void make_home(std::int32_t stage, const std::vector<Affine>& origin,
                 const std::vector<std::int64_t>& extent, Scope scope);
  bool is_inlined(std::int32_t stage) const {
    return state_.stage(static_cast<std::size_t>(stage)).compute_at == ComputeAt::inlined;
  }

  // emit_loops.hpp: loops of one nest
  StmtId emit_leaf(Emission& e, std::size_t leaf);
  StmtId emit_below(Emission& e, std::size_t leaf);
  StmtId emit_loop(Emission& e, std::size_t leaf, ForKind kind, const Affine& offset, ExprId extent,
                   std::int64_t most);
  StmtId emit_reduction(Emission& e);
  StmtId emit_versions(Emission& e, std::size_t leaf);
  std::size_t first_tile_leaf(const Emission& e) const;
  void settle(Emission& e, std::size_t leaf, std::int32_t settled);
  ForKind kind_of(const Emission& e, std::size_t leaf, bool is_constant) const;
  ExprId is_first_block(Emission& e);

  // emit_lanes.hpp: vectors of reductions that end with their own loops
  void place_lanes(Emission& e, const std::vector<TermCondition>& conditions) const;
  bool reads_densely(const Emission& e, std::size_t leaf, bool is_spatial) const;
  static void cut_lanes(Emission& e, std::size_t leaf, std::int64_t lanes, std::int64_t extent);
  std::int64_t cut_rows(Emission& e, std::size_t leaf) const;
  StmtId emit_fold(Emission& e);
  StmtId emit_row_fold(Emission& e);
  // emit_sum_lanes.hpp: the same with a register tile behind the reduction
  std::int32_t node_of_lanes(const Emission& e, const std::vector<TermCondition>& conditions) const;
  void place_sum_lanes(Emission& e) const;
  bool place_groups_along_sum(Emission& e, std::size_t leaf, std::int64_t native,
                              std::int64_t vectors, std::int64_t extent) const;
  // emit_epilogue.hpp: elementwise readers
  bool is_sole_reader(std::int32_t stage, std::int32_t reader) const;
  bool covers_exactly(const Emission& e, std::size_t leaf,
                      const std::vector<SymbolicInterval>& box);
  bool can_finish(const Emission& e, std::size_t leaf, std::int32_t stage,
                  const std::vector<SymbolicInterval>& box);
  bool may_share_home(const Emission& e, std::size_t leaf, std::int32_t stage,
                      const std::vector<SymbolicInterval>& box);  // emit_in_place.hpp
  ExprId is_last_block(Emission& e);
  StmtId emit_write_back(Emission& e);
  StmtId emit_finish(Emission& e, const ExprList& point, ExprId value);
  // emit_terms.hpp: when terms count
  void take_solved(Emission& e, const std::vector<TermCondition>& conditions);
  Affine form_of(const Nest& nest, const TermCondition& condition);
  // emit_taps.hpp: zero padding that the run leaves out
  void plan_padding(Emission& e);
  bool can_skip(const Emission& e, const PaddedAxis& axis, const std::vector<bool>& is_taken) const;
  bool is_in(const Emission& e, std::size_t leaf, const Constraint& c) const;
  std::int64_t rows_in_tile(const Emission& e, std::size_t row) const;
  std::int64_t find_places(const Emission& e, PaddedAxis& axis) const;
  StmtId emit_run(Emission& e, std::size_t index);
  const PaddedAxis* copied_for(const Emission& e, std::size_t leaf) const;
  StmtId emit_taps(Emission& e, std::size_t leaf, const PaddedAxis& axis);
  std::optional<std::pair<ExprId, ExprId>> tap_bounds(const Emission& e, std::size_t leaf,
                                                      ExprId count);

  // emit_kernel.hpp: GPU kernels
  StmtId emit_kernel(std::int32_t stage, std::vector<std::int64_t> extent);
  Scope scope_of_attached(std::int32_t stage) const;
  void relax(SymbolicInterval& interval) const;
  bool is_thread_var(VarId var) const;
  StmtId wrap_kernel(StmtId body);
  void drop_guards(StmtId id, const Substitution& axes);
  void take_shared(StmtId id, std::vector<BufferId>& shared);
  // emit_threads.hpp: loops of one thread
  StmtId emit_thread_stage(Emission& e, std::vector<Constraint> clips);
  void shape_threads(Emission& e) const;
  std::vector<AxisUse> threads_around(std::size_t depth) const;
  void guard_threads(Emission& e);
  StmtId emit_thread_leaf(Emission& e, std::size_t leaf);
  StmtId emit_bound(Emission& e, std::size_t leaf, ForKind axis);
  std::int64_t bound_of(const Emission& e, std::size_t leaf, std::vector<std::size_t>& settled);
  StmtId emit_thread_loop(Emission& e, std::size_t leaf);
  StmtId emit_thread_reduction(Emission& e);
  // emit_exchange.hpp: reductions across threads
  StmtId emit_exchange(Emission& e, std::size_t next);
  StmtId emit_tree(Emission& e);
  SharingThreads settle_threads(Emission& e);
  ExprList tile_point(const Emission& e);
  // emit_shuffles.hpp: the same from register to register
  std::int64_t shuffled_threads(const Emission& e) const;
  void emit_lane_steps(const Emission& e, const LaneExchange& x, std::int64_t count,
                       std::vector<StmtId>& parts);
  std::vector<BufferId> emit_warp_results(const Emission& e, const LaneExchange& x,
                                          std::int64_t threads, std::int64_t lanes,
                                          std::vector<StmtId>& parts);
  StmtId emit_shuffles(Emission& e, std::int64_t threads);
  // emit_vectors.hpp: vectors of one thread
  bool is_vector_access(VarId lane, std::int64_t lanes, ExprId id);
  void check_vectors(StmtId id);
  void find_vector_terms(VarId lane, std::int64_t lanes, ExprId id, std::vector<ExprId>& found);
  bool fetch_vector_terms(StmtId id, const For& loop);

  // emit_body.hpp: stores and values
  StmtId emit_body(Emission& e);
  std::vector<TileLoop> tile_loops(const Emission& e) const;
  ExprId value_of(ExprId id, const std::vector<std::pair<VarId, ExprId>>& env);
  ExprId fold(ExprId id);
  // emit_tensor.hpp: tensor intrinsics
  bool fills_tile_registers(Emission& e, bool has_all_terms) const;
  void place_intrinsic(Emission& e) const;
  static void mark_tile_loops(Emission& e);
  void place_warp_intrinsic(Emission& e) const;
  const TensorIntrinsic* intrinsic_of_loop(const Emission& e, std::size_t leaf, ForKind kind,
                                           ExprId extent, StmtId body) const;
  void make_offset_sums(Emission& e);
  void emit_offset_tile(Emission& e, BodyMode mode, std::vector<StmtId>& parts);
  bool wants_offset_sums(const Emission& e, std::size_t leaf) const;
  bool is_left_out_of_sums(const Emission& e, std::size_t leaf) const;
  StmtId emit_with_offset_sums(Emission& e, std::size_t leaf);
  ExprId with_offset(const Emission& e, ExprId source);
  StmtId emit_offset(Emission& e, const ExprList& tile_point, ExprId source);
  // emit_padding.hpp: whole tiles of tensor intrinsics
  bool is_padded_copy(std::int32_t stage) const;
  bool keeps_box(std::int32_t stage) const;
  const TensorIntrinsic* held_instruction(std::int32_t stage) const;
  void widen_to_tile(Emission& e, std::vector<Constraint>& clips) const;
  std::int32_t copy_to_pad(const Emission& e, const TensorRead& read, bool overruns) const;
  void pad_warp_product(Emission& e);
  void pad_copy(Emission& e, std::vector<Constraint>& clips) const;
  ExprId value_or_zero(const Emission& e, const ExprList& point, ExprId value);
  ExprId is_below(Affine form, const Affine& bound);
  void drop_implied(Nest& nest) const;
  // emit_unroll.hpp: steps of a reduction, one after the other
  void unroll_reduction(Emission& e) const;
  // emit_prefetch.hpp: asking for operands ahead of their use
  void place_prefetch(Emission& e) const;
  StmtId emit_prefetch(Emission& e);
  StmtId emit_block_prefetch(Emission& e);
  std::vector<Affine> forms_of(const Emission& e, const TensorRead& read);
  ExprList place(TensorId tensor, const ExprList& indices);
  ExprId expr(const Affine& form) { return to_expr(program_.pool, form); }
  Affine affine(ExprId id) { return to_affine(program_.pool, extents_, id); }
  StmtId seq(std::vector<StmtId> items) {
    return items.size() == 1 ? items[0] : program_.add(Seq{std::move(items)});
  }
  void fail(LowerErrorCode code, std::int32_t stage) {
    if (!error_) {
      error_ = LowerError{code, stage};
    }
  }

  std::vector<std::vector<std::uint32_t>> readers_;  ///< of every operation
  std::vector<ShapedNest>* shaped_ = nullptr;
  const State& state_;
  const Target& target_;
  LoopProgram program_;
  VarExtents extents_;
  std::vector<StageDerivation> derivations_;
  std::vector<TensorHome> homes_;
  std::vector<const StorageLayoutStep*> layouts_;  // per stage
  std::vector<Emission*> active_;
  FinishedTensor finished_;
  bool cannot_finish_ = false;                  // the attempt to write a reader's elements failed
  const std::vector<ExprId>* holds_ = nullptr;  // comparisons that are true in this body
  std::int32_t parallel_depth_ = 0;
  bool is_gpu_ = false;
  bool has_shuffles_ = true, has_torn_groups_ = false;
  bool relaxes_threads_ = false;  // regions are those of all threads of a block together
  Kernel kernel_;
  std::optional<LowerError> error_;
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
#include "tensorsmith/lower/emit_shuffles.hpp"
#include "tensorsmith/lower/emit_stage.hpp"
#include "tensorsmith/lower/emit_taps.hpp"
#include "tensorsmith/lower/emit_tensor.hpp"
#include "tensorsmith/lower/emit_terms.hpp"
#include "tensorsmith/lower/emit_threads.hpp"
#include "tensorsmith/lower/emit_unroll.hpp"
#include "tensorsmith/lower/emit_vectors.hpp"
#include "tensorsmith/lower/emit_versions.hpp"
