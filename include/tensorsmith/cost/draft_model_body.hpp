// SPDX-License-Identifier: Apache-2.0
// The definitions of draft_model.hpp.
//
// Floor 6. Included by cost/draft_model.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/draft_nest.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/cost/draft_registers.hpp"
#include "tensorsmith/cost/draft_traffic.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/sched/prepared.hpp"

namespace tensorsmith {

namespace detail {

class DraftEstimator {
 public:
  DraftEstimator(const State& state, const Target& target, std::int32_t num_threads)
      : state_(state), program_(state), shaper_(program_, target),
        traffic_(program_, target, num_threads), target_(target), num_threads_(num_threads),
        rates_(draft_rates(target)) {}

  DraftParts parts() {
    const std::vector<bool> is_prepared = prepared_stages(state_);
    DraftParts parts;
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      if (program_.is_computed(s) && !is_prepared[s]) {
        add_stage(s, parts);
      }
    }
    return parts;
  }

 private:
  /// Whether the accumulators are loaded again for a later part of the reduction.
  static bool revisits_tile(const DraftNest& nest) {
    bool found = false;
    for (std::size_t d = nest.first_own; d < nest.run_begin; ++d) {
      const DraftLoop& loop = nest.loops[d];
      found = found || (loop.is_reduction && loop.extent > 1 && !loop.is_solved);
    }
    return found && nest.run_begin < nest.tile_begin;
  }
  double lines_of_tile(std::size_t stage, const DraftNest& nest) const {
    double lines = nest.has_vector ? whole(nest.width / shaper_.lanes_of(stage)) : 1;
    for (std::size_t d = nest.tile_begin; d + (nest.has_vector ? 1 : 0) < nest.loops.size(); ++d) {
      lines *= whole(nest.loops[d].extent);
    }
    return lines;
  }

  /// Of what a run of the reduction waits for at its start: meanwhile the core goes on with as many
  /// of the next runs as it can look ahead to.
  double share_exposed(std::size_t stage, const DraftNest& nest) const {
    double run = 1;
    for (std::size_t d = nest.run_begin; d < nest.tile_begin; ++d) {
      run *= nest.loops[d].is_reduction ? nest.loops[d].extent : 1;
    }
    const double lines = lines_of_tile(stage, nest);
    return smaller_of(1.0, (run * (lines + 2) + 2 * lines) / rates_.window);
  }

  /// Cycles of one group of reductions in tile registers: a product takes as many as a tile has
  /// rows, loads go at half of that beside it, and the next product of the same accumulators waits
  /// for the last one (Intel's optimisation manual: 16, 8 and 52 cycles). What is no whole tile
  /// runs as loops on memory.
  static double tile_cycles(const TensorIntrinsic& x, double rows, double width, double vectors) {
    const double down = rows / x.m, across = width / x.n;
    if (down != floor_of(down) || across != floor_of(across)) {
      return static_cast<double>(x.k) * rows * vectors * 3;
    }
    constexpr double latency = 52;
    return larger_of(x.m * larger_of(down * across, (down + across) / 2), latency);
  }

  /// Whether elements are extended or converted as they are loaded: floats of 16 bits, and integers
  /// that are narrower than what the intrinsic takes. Other integers are few instructions.
  bool is_converted(std::size_t stage, const DraftAccess& access,
                    const TensorIntrinsic* intrinsic) const {
    const DType type = state_.dag().tensor(access.tensor).dtype;
    const DType sum = state_.dag().tensor(state_.operation(stage).outputs[0]).dtype;
    const std::int32_t taken = bytes_of(intrinsic != nullptr ? intrinsic->b : sum);
    return bytes_of(type) < taken;
  }

  /// Whether the vectors of an access begin at other places than multiples of a line apart.
  bool begins_anywhere(const DraftOperation& op, const DraftAccess& access, std::size_t vector_axis,
                       double width, double lanes) const {
    const double bytes =
        static_cast<double>(bytes_of(program_.state().dag().tensor(access.tensor).dtype));
    if (lanes * bytes < static_cast<double>(target_.cache_line_bytes)) {
      return false;  // few of them do
    }
    for (std::size_t a = 0; a < op.num_axes; ++a) {
      const double step = (a == vector_axis ? width : 1) * traffic_.storage().stride(op, access, a);
      const bool moves = op.extents[a] > (a == vector_axis ? width : 1);
      if (moves && step / lanes != floor_of(step / lanes)) {
        return true;
      }
    }
    return false;
  }

  struct TileLoop {
    std::size_t axis;
    double extent, whole_count, tail;  ///< tail: extent of the last, shorter one; 0: none
  };

  /// `exposed`: see share_exposed.
  double core_cycles(std::size_t stage, const DraftNest& nest, double exposed) const {
    const DraftOperation& op = program_.operation(stage);
    const double lanes = shaper_.lanes_of(stage);
    const bool reduces = nest.run_begin < nest.tile_begin;
    double outer = 1, run = 1, reductions = 1;
    std::vector<double> region(op.num_axes, 1.0);
    const std::size_t num_loops = nest.loops.size() - (nest.is_folded ? 1 : 0);
    for (std::size_t d = 0; d < num_loops; ++d) {
      const DraftLoop& loop = nest.loops[d];
      if (d < nest.first_own || loop.moves == 0) {
        outer *= loop.extent;
      } else if (loop.is_reduction) {
        reductions *= loop.extent;
        run *= d >= nest.run_begin && d < nest.tile_begin ? loop.extent : 1;
      } else {
        region[DraftProgram::axis_index(loop.moves)] *= loop.extent;
      }
    }
    std::vector<TileLoop> tile;
    AxisMask in_tile = 0;
    const std::size_t first = nest.is_promoted || !reduces
                                  ? nest.tile_begin
                                  : nest.loops.size() - (nest.has_vector ? 1 : 0);
    for (std::size_t d = first; d < num_loops; ++d) {
      const DraftLoop& loop = nest.loops[d];
      const std::size_t axis = DraftProgram::axis_index(loop.moves);
      if (loop.moves == 0 || (in_tile & loop.moves) != 0) {
        continue;
      }
      in_tile |= loop.moves;
      const double extent = whole(loop.extent);
      const double count = floor_of(region[axis] / extent + 1e-6);
      const double tail = region[axis] - count * extent;
      tile.push_back({axis, extent, count, tail > 1e-6 * extent ? whole(tail) : 0});
    }
    for (std::size_t a = 0; a < op.num_spatial; ++a) {
      outer *= (in_tile >> a & 1) != 0 ? 1 : region[a];
    }
    const std::size_t vector_axis =
        nest.has_vector ? DraftProgram::axis_index(nest.loops.back().moves) : op.num_axes;
    const bool leaves_out = vector_axis == op.num_axes || (op.terms.axes >> vector_axis & 1) == 0;
    const double num_conditions =
        op.num_conditions + (op.terms.axes != 0 && !leaves_out ? 1.0 : 0.0);
    const double counted = reductions * (leaves_out ? op.terms.share : op.terms.solved);
    const double runs = larger_of(1.0, reductions / run * op.terms.solved);
    std::vector<double> strides;
    std::vector<bool> splits;  // vectors that begin anywhere and lie in two lines
    for (const DraftAccess& access : op.accesses) {
      splits.push_back(nest.has_vector &&
                       begins_anywhere(op, access, vector_axis, nest.width, lanes));
      strides.push_back(nest.has_vector ? traffic_.storage().stride(op, access, vector_axis) *
                                              op.phases[vector_axis]
                                        : 0.0);
    }
    // Reductions that an intrinsic takes at once.
    const TensorIntrinsic* intrinsic = find_intrinsic(target_, state_.stage(stage).hints);
    const bool has_groups =
        intrinsic != nullptr && reduces && nest.is_promoted && nest.has_vector && !nest.is_folded &&
        nest.loops[nest.tile_begin - 1].extent >= static_cast<double>(intrinsic->k);
    const double group = has_groups ? static_cast<double>(intrinsic->k) : 1;
    const bool is_dot = has_groups || nest.lane_group > 1;
    // Elsewhere no value waits in a register for a loop of the tile.
    const std::vector<std::size_t> order = reduces && nest.is_promoted && !is_dot
                                               ? order_in_registers(tile, vector_axis)
                                               : std::vector<std::size_t>();
    double sum = 0;
    const std::size_t combinations = std::size_t{1} << tile.size();
    std::vector<double> extent(op.num_axes, 1.0);
    for (std::size_t tails = 0; tails < combinations; ++tails) {
      double count = 1, rows = 1;
      for (std::size_t t = 0; t < tile.size(); ++t) {
        const bool is_tail = (tails >> t & 1) != 0;
        extent[tile[t].axis] = is_tail ? tile[t].tail : tile[t].extent;
        count *= is_tail ? (tile[t].tail > 0 ? 1 : 0) : tile[t].whole_count;
        rows *= tile[t].axis == vector_axis ? 1 : extent[tile[t].axis];
      }
      if (count <= 0) {
        continue;
      }
      double width = 1;
      if (nest.is_folded) {
        width = nest.width;
      } else if (nest.has_vector) {
        width = nest.width < extent[vector_axis] ? extent[vector_axis] : nest.width;
        width = extent[vector_axis] < tile.back().extent ? extent[vector_axis] : width;
        count *= extent[vector_axis] / width;
      }
      const double vectors = nest.has_vector ? whole(width / (lanes * nest.lane_group)) : 1;
      RegisterTile registers(target_, rows * vectors);
      for (const std::size_t t : order) {
        const std::size_t axis = tile[t].axis;
        registers.add_loop(AxisMask{1} << axis, axis == vector_axis ? vectors : extent[axis]);
      }
      for (const DraftAccess& access : op.accesses) {
        if (!access.is_store) {
          registers.add_read(access.moved_by);
        }
      }
      double loads = 0, gathers = 0, stores = 0, conversions = 0;
      for (std::size_t i = 0; i < op.accesses.size(); ++i) {
        double times = 1;
        for (const TileLoop& loop : tile) {
          const bool moves = (op.accesses[i].moved_by >> loop.axis & 1) != 0;
          times *= moves && loop.axis != vector_axis ? extent[loop.axis] : 1;
        }
        const bool is_store = op.accesses[i].is_store;
        if (!is_store) {
          times *= registers.times_loaded(op.accesses[i].moved_by, strides[i] == 0);
        }
        const bool is_strided = nest.has_vector && strides[i] != 0 && strides[i] != 1 &&
                                strides[i] != group &&
                                !(has_groups && strides[i] == intrinsic->group());
        if (has_groups && strides[i] == 1 && !is_store) {  // rows are loaded and interleaved
          loads += times * vectors * 2 * (group - 1);
        }
        if (op.accesses[i].lines_ahead > 0) {  // one more instruction for every line
          const double runs =
              op.accesses[i].is_block_ahead ? nest.runs_per_block(op.accesses[i].moved_by) : 1;
          loads += times * (strides[i] == 0 ? 1 / lanes : vectors) / runs;
        }
        if (is_strided) {  // a reduction stores once per run, not in every step
          (is_store && reduces ? stores : gathers) += times * width;
        } else {
          const double each = strides[i] == 0 ? 1 : vectors * (splits[i] ? 2 : 1);
          (is_store ? stores : loads) += times * each;
        }
        if (!is_store && is_converted(stage, op.accesses[i], is_dot ? intrinsic : nullptr)) {
          conversions += times * (strides[i] == 0 ? 2 : vectors);
        }
      }
      const double fma = larger_of(1.0, reduces ? op.num_float_ops / 2 : op.num_float_ops);
      double step = rows * vectors *
                    (fma / target_.fma_per_cycle.value_or(2) + op.num_calls * rates_.call +
                     num_conditions * 2);
      const double memory = loads / rates_.loads_per_cycle + gathers * rates_.gather;
      if (!reduces) {
        step = larger_of(larger_of(step, memory), stores / rates_.stores_per_cycle) + 1;
        sum += count * step;
        continue;
      }
      if (reduces) {  // beside products: sums of their own, and conversions
        const double sums = is_dot && intrinsic->widens ? rows * vectors : 0;
        step = larger_of(step, (rows * vectors * fma + sums + conversions) /
                                   (1.5 * target_.fma_per_cycle.value_or(2)));
      }
      step = larger_of(step, memory);
      const double busy = rows * vectors * fma / target_.fma_per_cycle.value_or(2);
      step = larger_of(step, step_of_products(busy, target_, rates_, exposed));
      if (nest.in_tiles && has_groups) {
        step = tile_cycles(*intrinsic, rows, width, vectors);
      }
      if (!nest.is_promoted) {
        step += rows * vectors * (1 + 1 / rates_.stores_per_cycle);
      }
      const bool loops =
          run > larger_of(1, state_.stage(stage).hints.get<hints::UnrollReduction>().steps);
      const double again = runs > 1 ? stores / rates_.loads_per_cycle : 0;
      const double fold = nest.is_folded ? rates_.fold * rows : 0;
      const double at_end = stores / rates_.stores_per_cycle * exposed;
      sum += count * (counted / group * step + runs * (rates_.run_start * exposed + fold + again +
                                                       at_end + (loops ? rates_.loop_end : 0)));
    }
    return sum * outer;
  }

  /// The busiest thread's share of the work.
  double share_of_busiest(const DraftNest& nest) const {
    double chunks = 1;
    for (const DraftLoop& loop : nest.loops) {
      chunks *= loop.is_parallel ? loop.extent : 1;
    }
    if (num_threads_ <= 1 || chunks <= 1) {
      return 1;
    }
    const double threads = static_cast<double>(num_threads_);
    return whole(whole(chunks) / threads) / whole(chunks);
  }

  void add_stage(std::size_t stage, DraftParts& parts) const {
    const DraftNest nest = shaper_.shape(stage);
    const double exposed = share_exposed(stage, nest);
    const double core = core_cycles(stage, nest, exposed);
    DraftTraffic::Waits waits =
        traffic_.waits(stage, nest, revisits_tile(nest) ? lines_of_tile(stage, nest) : 0, core);
    waits.tiles *= exposed;
    const double share = share_of_busiest(nest);
    double sum = core + waits.tiles, ahead = 0, late = 0;
    double most = sum, most_ahead = 0, most_late = 0;
    for (std::size_t level = 0; level < waits.levels.size(); ++level) {
      parts.levels[level] += waits.levels[level] * share;
    }
    // Hardware fetches from memory ahead up to the end of a page: what finds the next one comes on
    // top, unless it was asked for.
    if (waits.levels[2] > 0) {
      waits.levels[2] += waits.levels[4] - waits.ahead[4] + waits.late[4];
      waits.levels[4] = waits.ahead[4] = waits.late[4] = 0;
    }
    for (std::size_t level = 0; level < waits.levels.size(); ++level) {
      sum += waits.levels[level];
      ahead += waits.ahead[level];
      late += waits.late[level];
      if (waits.levels[level] > most) {
        most = waits.levels[level];
        most_ahead = waits.ahead[level];
        most_late = waits.late[level];
      }
    }
    parts.core += core * share;
    parts.tiles += waits.tiles * share;
    parts.ahead += ahead * share;
    const double others = sum - most - (ahead - most_ahead);
    parts.total += (most + (1 - rates_.hidden) * others + late - most_late) * share;
  }

  const State& state_;
  DraftProgram program_;
  DraftShaper shaper_;
  DraftTraffic traffic_;
  const Target& target_;
  std::int32_t num_threads_;
  CoreRates rates_;
};

}  // namespace detail

TENSORSMITH_INLINE DraftParts draft_parts(const State& state, const Target& target,
                                          std::int32_t num_threads) {
  return detail::DraftEstimator(state, target, num_threads).parts();
}

}  // namespace tensorsmith
