// SPDX-License-Identifier: Apache-2.0
// DraftShaper: gives the loops of one stage the order in which the lowered program will run them.
//
// Floor 6. Own design: follows lower/shape_nest.hpp (vector loop, register tile) on numbers alone.
// Not here: costs (draft_model.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/cost/draft_nest_facts.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/shape_nest.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

class DraftShaper : private DraftNestFacts {
 public:
  DraftShaper(const DraftProgram& program, const Target& target)
      : DraftNestFacts(program, target) {}

  /// Of the vectors that the loops of a stage are cut for: those of what it writes.
  double lanes_of_loops(std::size_t stage) const {
    const std::int64_t bits =
        element_bits(program_.state().dag(), program_.state().operation(stage));
    return larger_of(1.0, floor_of(static_cast<double>(target_.vector_bits / bits)));
  }
  /// Of the widest element that it touches.
  double lanes_of(std::size_t stage) const {
    double widest = 1;
    for (const DraftAccess& access : program_.operation(stage).accesses) {
      widest = larger_of(widest, static_cast<double>(
                                     bytes_of(program_.state().dag().tensor(access.tensor).dtype)));
    }
    return larger_of(1.0, static_cast<double>(target_.vector_bits) / (8 * widest));
  }

  /// As lower/shape_nest.hpp: the last spatial loop becomes the vector loop, at most four vectors
  /// long; loops behind the last reduction that find no registers move in front of its run.
  DraftNest shape(std::size_t stage) const {
    DraftNest nest;
    nest.loops = program_.loops_around(stage);
    nest.first_own = nest.loops.size();
    for (const DraftLoop& loop : program_.own_loops(stage)) {
      nest.loops.push_back(loop);
    }
    std::vector<DraftLoop>& loops = nest.loops;
    nest.run_begin = nest.tile_begin = nest.first_own;
    if (loops.size() == nest.first_own) {
      return nest;
    }
    for (std::size_t i = nest.first_own; i < loops.size(); ++i) {
      nest.tile_begin = loops[i].is_reduction ? i + 1 : nest.tile_begin;
    }
    nest.run_begin = nest.tile_begin;
    while (nest.run_begin > nest.first_own &&
           (loops[nest.run_begin - 1].is_reduction || is_idle(loops[nest.run_begin - 1]))) {
      --nest.run_begin;
    }
    const double lanes = lanes_of_loops(stage);
    const DraftLoop& last = loops.back();
    const bool in_lanes = program_.state().stage(stage).hints.has<hints::VectorizeSum>() &&
                          is_one_run(nest) && lane_loop(nest, stage) < loops.size();
    nest.has_vector = nest.tile_begin < loops.size() && !last.is_parallel && !in_lanes &&
                      !has_attached(last.stage, last.iterator);
    if (nest.has_vector) {
      double extent = 1;
      for (std::size_t i = loops.size(); i-- > nest.tile_begin;) {
        extent *= loops[i].extent;
        if (!loops[i].is_fused_inner) {
          break;
        }
      }
      const TensorIntrinsic* intrinsic =
          find_intrinsic(target_, program_.state().stage(stage).hints);
      nest.in_tiles = intrinsic != nullptr && intrinsic->has_tiles();
      nest.width = nest.in_tiles ? extent : smaller_of(extent, 4 * lanes);
      if (loops.back().extent > nest.width) {
        DraftLoop inner = loops.back();
        inner.extent = nest.width;
        loops.back().extent /= nest.width;
        loops.push_back(inner);
      }
    }
    if (nest.run_begin == nest.tile_begin) {
      nest.run_begin = nest.tile_begin = loops.size() - (nest.has_vector ? 1 : 0);
      return nest;
    }
    fit_registers(nest, lanes,
                  static_cast<double>(program_.state().operation(stage).outputs.size()));
    if (nest.is_promoted && (in_lanes || nest.tile_begin == loops.size())) {
      place_lanes(nest, stage, lanes);
    }
    return nest;
  }

 private:
  /// As lower/emit_lanes.hpp: a vector loop behind a reduction that ends with its own loops, along
  /// the axis that is read densely; or, where the stage wants its vectors along the sum, behind all
  /// loops of the tile.
  void place_lanes(DraftNest& nest, std::size_t stage, double lanes) const {
    const DraftOperation& op = program_.operation(stage);
    std::vector<DraftLoop>& loops = nest.loops;
    if (!is_one_run(nest)) {
      return;
    }
    double rows = 1;
    for (std::size_t d = nest.tile_begin; d < loops.size(); ++d) {
      rows *= whole(loops[d].extent);
    }
    const bool has_tile = nest.tile_begin < loops.size();
    const auto cut = [&](std::size_t at) {
      DraftLoop inner = loops[at];
      double vectors = static_cast<double>(target_.num_vector_registers / 2);
      vectors = inner.is_reduction ? smaller_of(4.0, floor_of(vectors / rows)) : vectors;
      while (inner.is_parallel && vectors > 4 && inner.extent < 8 * vectors * lanes) {
        vectors /= 2;
      }
      const TensorIntrinsic* intrinsic =
          has_tile ? find_intrinsic(target_, program_.state().stage(stage).hints) : nullptr;
      if (intrinsic != nullptr && !intrinsic->has_tiles()) {
        const double one = lanes * intrinsic->k, count = loops[at].extent / one;
        nest.lane_group = count == floor_of(count) ? intrinsic->k : 1;
      }
      nest.width = inner.extent =
          smaller_of(loops[at].extent, larger_of(vectors, 1.0) * lanes * nest.lane_group);
      inner.is_parallel = inner.is_fused_inner = false;
      loops[at].extent /= inner.extent;
      loops.push_back(inner);
      nest.has_vector = true;
      nest.is_folded = inner.is_reduction;
    };
    std::size_t spatial = nest.run_begin;
    while (spatial > nest.first_own && is_idle(loops[spatial - 1])) {
      --spatial;
    }
    if (!has_tile && spatial > nest.first_own && loops[spatial - 1].extent >= 4 &&
        program_.state().operation(stage).outputs.size() == 1 &&
        !has_attached(loops[spatial - 1].stage, loops[spatial - 1].iterator) &&
        DraftProgram::axis_index(loops[spatial - 1].moves) + 1 == op.num_spatial &&
        is_of_one_axis(loops, spatial - 1, stage) && is_dense(stage, op.num_spatial - 1)) {
      cut(spatial - 1);
      return;
    }
    const std::size_t at = lane_loop(nest, stage), none = loops.size();
    if (!has_tile && spatial > nest.first_own && op.terms.axes == 0) {
      rows *= cut_rows(loops, spatial - 1, stage);
    }
    if (at < none) {
      cut(at);
    }
  }

  /// The rows that a step is taken in, as loops behind all others; how many. Of a loop of fused
  /// axes they are the last ones.
  double cut_rows(std::vector<DraftLoop>& loops, std::size_t at, std::size_t stage) const {
    double whole_loop = loops[at].extent;
    for (std::size_t i = at; loops[i].is_fused_inner; --i) {
      whole_loop *= loops[i - 1].extent;
    }
    const double rows = smaller_of(
        static_cast<double>(program_.state().stage(stage).hints.get<hints::RowBlock>().rows),
        whole(whole_loop));
    if (rows <= 1 || has_attached(loops[at].stage, loops[at].iterator)) {
      return 1;
    }
    const std::size_t first = loops.size();
    for (double left = rows; left > 1; --at) {
      DraftLoop inner = loops[at];
      inner.extent = smaller_of(left, inner.extent);
      inner.is_parallel = false;
      left /= inner.extent;
      loops[at].extent /= inner.extent;
      loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(first), inner);
      if (!loops[at].is_fused_inner) {
        break;
      }
    }
    loops[first].is_fused_inner = false;
    return rows;
  }

  /// Loops that move leave the inner part that still fits, if it divides.
  void fit_registers(DraftNest& nest, double lanes, double num_outputs) const {
    std::vector<DraftLoop>& loops = nest.loops;
    for (std::size_t i = nest.tile_begin; i < loops.size(); ++i) {
      if (has_attached(loops[i].stage, loops[i].iterator) || loops[i].is_parallel) {
        return;
      }
    }
    nest.is_promoted = true;
    if (nest.in_tiles) {
      return;
    }
    const std::size_t end = loops.size() - (nest.has_vector ? 1 : 0);
    const double vectors = nest.has_vector ? whole(nest.width / lanes) : 1;
    const double registers = static_cast<double>(target_.num_vector_registers);
    const auto fits = [&](double rows) {
      return vectors * num_outputs * rows + vectors + 1 <= registers;
    };
    std::size_t first = end;
    double rows = 1;
    while (first > nest.tile_begin && fits(rows * whole(loops[first - 1].extent))) {
      rows *= whole(loops[--first].extent);
    }
    if (first == nest.tile_begin) {
      return;
    }
    DraftLoop& candidate = loops[first - 1];
    const auto extent = static_cast<std::int64_t>(whole(candidate.extent));
    for (std::int64_t inside = extent - 1; inside > 1; --inside) {
      const double part = static_cast<double>(inside);
      if (extent % inside == 0 && fits(rows * part)) {
        DraftLoop inner = candidate;
        inner.is_fused_inner = false;
        inner.extent = part;
        candidate.extent /= part;
        loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(first), inner);
        break;
      }
    }
    for (std::size_t i = nest.run_begin; i + 1 < nest.tile_begin; ++i) {
      nest.run_begin = has_attached(loops[i].stage, loops[i].iterator) ? i + 1 : nest.run_begin;
    }
    const std::vector<DraftLoop> run(loops.begin() + static_cast<std::ptrdiff_t>(nest.run_begin),
                                     loops.begin() + static_cast<std::ptrdiff_t>(nest.tile_begin));
    const std::size_t moved = first - nest.tile_begin;
    for (std::size_t i = 0; i < moved; ++i) {
      loops[nest.run_begin + i] = loops[nest.tile_begin + i];
    }
    for (std::size_t i = 0; i < run.size(); ++i) {
      loops[nest.run_begin + moved + i] = run[i];
    }
    nest.run_begin += moved;
    nest.tile_begin += moved;
  }
};

}  // namespace tensorsmith::detail
