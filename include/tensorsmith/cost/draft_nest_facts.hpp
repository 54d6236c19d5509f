// SPDX-License-Identifier: Apache-2.0
// DraftNest: the loops of one stage in the order in which the lowered program will run them, and
// what is asked of loops on the way there.
//
// Floor 6. Own design. Not here: how they are shaped (draft_nest.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/cost/draft_program.hpp"
#include "tensorsmith/lower/partial_results.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

inline double floor_of(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
/// The next whole number, unless rounding alone lies between.
inline double whole(double x) { return floor_of(x + 1 - 1e-6); }

/// The loops of one stage as they will run: around it, then its own with the register tile last.
struct DraftNest {
  std::vector<DraftLoop> loops;
  std::size_t first_own = 0;
  std::size_t run_begin = 0, tile_begin = 0;  ///< innermost reductions; what is behind them
  bool has_vector = false;                    ///< the last loop is one
  bool is_promoted = false;                   ///< accumulators stay in registers
  bool in_tiles = false;   ///< those of a tensor intrinsic (lower/tile_block.hpp)
  double lane_group = 1;   ///< elements of a folded reduction in every lane, as an intrinsic takes
  bool is_folded = false;  ///< the vector loop is a part of the reduction
  double width = 1;        ///< of the vector loop, at most four vectors

  /// The first loop inside the one over blocks of the reduction.
  std::size_t block_begin() const {
    std::size_t d = run_begin;
    while (d > first_own && !loops[d - 1].is_reduction) {
      --d;
    }
    return d;
  }
  /// How many runs of the reduction read the same of an access that `moved_by` moves between two
  /// iterations of the loop over blocks: they share the work of asking for the next block.
  double runs_per_block(AxisMask moved_by) const {
    double runs = 1;
    for (std::size_t d = block_begin(); d < run_begin; ++d) {
      runs *= (loops[d].moves & moved_by) == 0 ? loops[d].extent : 1;
    }
    return runs;
  }
};

/// Questions about the loops of a stage.
class DraftNestFacts {
 protected:
  DraftNestFacts(const DraftProgram& program, const Target& target)
      : program_(program), target_(target) {}

  bool has_attached(std::int32_t stage, std::int32_t iterator) const {
    return program_.state().attach_map().iterator_to_stages.contains(IteratorKey{stage, iterator});
  }

  /// One iteration, and nothing is computed in it but what is inside.
  bool is_idle(const DraftLoop& loop) const {
    return loop.extent == 1 && !has_attached(loop.stage, loop.iterator);
  }

  /// Whether something is read from neighbour to neighbour along the axis, and nothing in jumps.
  bool is_dense(std::size_t stage, std::size_t axis) const {
    const DraftOperation& op = program_.operation(stage);
    bool has_dense = false, has_jumps = false;
    for (const DraftAccess& access : op.accesses) {
      if (access.is_store || (access.moved_by >> axis & 1) == 0) {
        continue;
      }
      const auto& shape = program_.state().dag().tensor(access.tensor).shape;
      bool is_last = true;  // of the dimensions that have more than one element
      for (std::size_t d = access.rank; d-- > 0; is_last = is_last && shape[d] == 1) {
        const double step = op.row(access, d)[axis];
        const bool is_next = step == 1 && is_last;
        has_dense = has_dense || is_next;
        has_jumps = has_jumps || (step != 0 && !is_next);
      }
    }
    return has_dense && !has_jumps;
  }

  /// Whether a loop runs along one axis, but for others of one element (lower/emit_lanes.hpp).
  bool is_of_one_axis(const std::vector<DraftLoop>& loops, std::size_t at,
                      std::size_t stage) const {
    std::size_t begin = at, end = at + 1;
    while (loops[begin].is_fused_inner) {
      --begin;
    }
    while (end < loops.size() && loops[end].is_fused_inner) {
      ++end;
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (i != at && loops[i].extent > 1) {
        return false;
      }
    }
    const Operation& op = program_.state().operation(stage);
    const auto iterator = static_cast<std::size_t>(loops[at].iterator);
    std::size_t count = 0;
    for (const AxisMask run : program_.operation(stage).axes_of_iterators[iterator]) {
      const bool is_this = (run & loops[at].moves) != 0;
      for (std::size_t a = 0; is_this && a < op.axes.size() + op.reduce_axes.size(); ++a) {
        const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
        count += (run >> a & 1) != 0 && axis.extent > 1 ? 1 : 0;
      }
    }
    return count <= 1;
  }

  /// Whether all loops of the reduction are in the run, and nothing is computed inside of it.
  bool is_one_run(const DraftNest& nest) const {
    const std::vector<DraftLoop>& loops = nest.loops;
    bool is_one = true;
    for (std::size_t d = nest.first_own; d < loops.size(); ++d) {
      const bool is_outside = d < nest.run_begin && loops[d].is_reduction && loops[d].extent > 1;
      const bool has_stage = d >= nest.run_begin && has_attached(loops[d].stage, loops[d].iterator);
      is_one = is_one && !is_outside && !has_stage;
    }
    return is_one;
  }

  bool sums_in_parts(std::size_t stage) const {
    const Operation& op = program_.state().operation(stage);
    const ExprPool& pool = program_.state().dag().pool();
    const Reduce* reduce = op.outputs.size() == 1 ? pool.as<Reduce>(op.bodies[0]) : nullptr;
    return reduce != nullptr && has_partial_results(pool, pool.combiner(reduce->combiner));
  }

  /// The loop of the run that the sum can have its lanes along; as many as loops: none.
  std::size_t lane_loop(const DraftNest& nest, std::size_t stage) const {
    const std::vector<DraftLoop>& loops = nest.loops;
    if (!sums_in_parts(stage)) {
      return loops.size();
    }
    AxisMask seen = 0;  // outer parts of an axis do not go from neighbour to neighbour
    for (std::size_t d = nest.tile_begin;
         d-- > nest.run_begin && program_.operation(stage).terms.axes == 0;) {
      const bool is_inner = (seen & loops[d].moves) == 0;
      seen |= loops[d].moves;
      if (loops[d].moves != 0 && loops[d].is_reduction && is_inner && loops[d].extent >= 4 &&
          is_of_one_axis(loops, d, stage) &&
          is_dense(stage, DraftProgram::axis_index(loops[d].moves))) {
        return d;
      }
    }
    return loops.size();
  }

  const DraftProgram& program_;
  const Target& target_;
};

}  // namespace tensorsmith::detail
