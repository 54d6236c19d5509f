// From a state to loops: placement of stages, loop bounds, steady and tail copies, register tiles.
//
// Floor 4. Own design, after lowering.md's worked examples. One pass builds the program, because
// every decision below needs the same facts (which leaves have values, which constraints are
// settled):
//   for x in 86: ... 12*x + r < 1021     -->   for x in 85: ... ; tail copy with r in 1
// A constraint is settled by the bound of a serial loop, or, where unrolled or vectorized loops
// need constant extents, by copying the loop body: steady part and tail. What cannot be settled so
// becomes an If around the store (correct, slow, and rare: fused imperfect loops).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/lower/lower_error.hpp"
#include "tensorsmith/lower/region.hpp"
#include "tensorsmith/lower/shape_nest.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::detail {

/// Where a tensor's elements live: index - origin, cut into pieces by a storage layout.
struct TensorHome {
  BufferId buffer;
  std::vector<Affine> origin;
  const StorageLayoutStep* layout = nullptr;
};

/// What the innermost body does.
enum class BodyMode : std::uint8_t { compute, initialize, update, write_back };

struct Emission {
  Nest nest;
  NestShape shape;
  const Operation* op = nullptr;
  BodyMode mode = BodyMode::compute;
  std::vector<BufferId> accumulators;  ///< register tile; empty = accumulate in memory
  std::vector<BufferId> temporaries;   ///< for reductions with several outputs
  bool is_reading_partial = false;     ///< initialize copies the stored partial result
  bool is_tile_indexed = false;        ///< a loop of the tile stays a loop
  /// Lines of an operand are asked for in front of this leaf, whenever the tile is updated; -1 =
  /// no.
  std::int32_t prefetch_leaf = -1;
};

class Emitter {
 public:
  Emitter(const State& state, const Target& target)
      : state_(state), target_(target), program_(state.dag().pool_ptr()) {}

  Result<LoopProgram, LowerError> run();

 private:
  // emit_stage.hpp: placement
  StmtId emit_stage(std::int32_t stage, std::vector<Affine> base, std::vector<std::int64_t> extent,
                    std::vector<Constraint> clips);
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
  void settle(Emission& e, std::size_t leaf, std::int32_t settled);
  ForKind kind_of(const Emission& e, std::size_t leaf, bool is_constant) const;
  ExprId is_first_block(Emission& e);

  // emit_body.hpp: stores and values
  StmtId emit_body(Emission& e);
  ExprId value_of(ExprId id, const std::vector<std::pair<VarId, ExprId>>& env);
  ExprId fold(ExprId id);
  // emit_prefetch.hpp: asking for operands ahead of their use
  void place_prefetch(Emission& e) const;
  StmtId emit_prefetch(Emission& e);
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

  const State& state_;
  const Target& target_;
  LoopProgram program_;
  VarExtents extents_;
  std::vector<StageDerivation> derivations_;
  std::vector<TensorHome> homes_;
  std::vector<const StorageLayoutStep*> layouts_;  // per stage
  std::vector<Emission*> active_;
  std::int32_t parallel_depth_ = 0;
  std::optional<LowerError> error_;
};

}  // namespace tensorsmith::detail

#include "tensorsmith/lower/emit_body.hpp"
#include "tensorsmith/lower/emit_loops.hpp"
#include "tensorsmith/lower/emit_prefetch.hpp"
#include "tensorsmith/lower/emit_stage.hpp"
