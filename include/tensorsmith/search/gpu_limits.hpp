// SPDX-License-Identifier: Apache-2.0
// What tiles of a GPU program ask of a block, as expressions over the lengths of its splits.
//
// Floor 7. Own design; the same as detail::block_needs of the state (population/fit_block.hpp),
// before there is a state. Of a stage that is tiled in the reference's way (SSSRRSRS) inside of
// another:
//     threads = product of the third levels, virtual threads of the second,
//     registers: what is inside of a thread, of every virtual thread
//     shared memory: the region of an operand that a block reads in one step of the outermost
//     reduction loop. Copies may be rounded up to whole vectors and threads: that is seen later.
// Stages of other structure have no such constraints; their programs are tested when they are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/linear.hpp"
#include "tensorsmith/search/population/fit_block.hpp"
#include "tensorsmith/search/space_options.hpp"
#include "tensorsmith/space/constraint.hpp"

namespace tensorsmith::detail {

/// The variables of the lengths of a split of a sketch.
struct SplitVariables {
  std::int32_t stage;    ///< today's id
  std::string iterator;  ///< that is split
  std::vector<VariableId> lengths;
};

class GpuLimitsOfTiles {
 public:
  GpuLimitsOfTiles(VariableSpace& space, const State& sketch,
                   const std::vector<SplitVariables>& splits, const SpaceOptions& options)
      : space_(space), sketch_(sketch), splits_(splits), options_(options) {}

  /// Constraints of the block that computes tiles of `stage` inside of `root`.
  void add(std::int32_t stage) {
    const Operation& op = sketch_.operation(static_cast<std::size_t>(stage));
    const auto id = static_cast<std::size_t>(stage);
    constexpr std::size_t spatial_lengths = 4, reduction_lengths = 2;
    tiles_.clear();
    if (!read_axes(stage, op.axes, spatial_lengths) ||
        !read_axes(stage, op.reduce_axes, reduction_lengths)) {
      return;
    }
    std::vector<ExprId> virtual_threads, threads, of_thread;
    for (std::size_t i = 0; i < op.axes.size(); ++i) {
      const std::vector<VariableId>& lengths = tiles_[i].lengths;
      if (lengths.empty()) {
        of_thread.push_back(tiles_[i].whole);
        continue;
      }
      virtual_threads.push_back(space_.expr(lengths[0]));
      threads.push_back(space_.expr(lengths[1]));
      of_thread.push_back(space_.pool().mul(space_.expr(lengths[2]), space_.expr(lengths[3])));
    }
    const std::string& name = op.name;
    const HardwareParams& hardware = options_.hardware;
    const ExprId all_virtual = space_.product(virtual_threads);
    const ExprId all_threads = space_.product(threads);
    of_thread.push_back(all_virtual);
    const ExprId elements = space_.product(of_thread);
    const ExprId bytes = space_.pool().mul(elements, space_.number(element_bytes(sketch_, id)));
    space_.define(name + ".virtual_threads", all_virtual);
    space_.define(name + ".threads", all_threads);
    space_.define(name + ".private_bytes", bytes);
    space_.require(space_.at_most(all_virtual, hardware.max_vthread_extent),
                   ConstraintKind::legality, "a block has few virtual threads");
    space_.require(space_.at_most(all_threads, hardware.max_threads_per_block),
                   ConstraintKind::capacity, "a block has no more threads than the device allows");
    if (is_large_enough_for_warps(op, hardware.warp_size)) {
      space_.require(space_.at_least(all_threads, hardware.warp_size), ConstraintKind::legality,
                     "a block has a warp at least");
    }
    constexpr std::int64_t registers_of_block = 65536, registers_of_thread = 255, others = 24;
    const ExprId registers =
        space_.pool().add(space_.number(others), space_.pool().floordiv(bytes, space_.number(4)));
    space_.define(name + ".registers", registers);
    space_.require(space_.at_most(registers, registers_of_thread), ConstraintKind::capacity,
                   "a thread keeps its elements in registers");
    space_.require(space_.at_most(space_.pool().mul(registers, all_threads), registers_of_block),
                   ConstraintKind::capacity, "the threads of a block share the registers");
    std::vector<ExprId> shared;
    for (const auto& [copy, place] : sketch_.attach_map().stage_to_iterator) {
      const auto of = static_cast<std::size_t>(copy);
      if (place.stage == stage && sketch_.stage(of).is_shared_copy()) {
        shared.push_back(
            space_.pool().mul(region(op, copy), space_.number(element_bytes(sketch_, of))));
      }
    }
    if (!shared.empty()) {
      const ExprId total = space_.sum(shared);
      space_.define(name + ".shared_bytes", total);
      space_.require(space_.at_most(total, hardware.max_shared_memory_per_block),
                     ConstraintKind::capacity, "copies fit the shared memory of a block");
    }
  }

 private:
  /// An axis of the tiled stage: its lengths, or none; and how much of it a block has in one step
  /// of the outermost reduction loop.
  struct Tile {
    VarId var;
    std::vector<VariableId> lengths;
    ExprId whole;
  };

  /// False if an axis is split in another way.
  bool read_axes(std::int32_t stage, const std::vector<Axis>& axes, std::size_t num_lengths) {
    const ExprPool& pool = sketch_.dag().pool();
    for (const Axis& axis : axes) {
      const std::string name = clean_name(pool.var_name(axis.var));
      const SplitVariables* found = nullptr;
      for (const SplitVariables& split : splits_) {
        if (split.stage == stage && split.iterator == name) {
          if (found != nullptr || split.lengths.size() != num_lengths) {
            return false;
          }
          found = &split;
        }
      }
      if (found == nullptr && !is_not_split(sketch_, stage, pool.var_name(axis.var))) {
        return false;
      }
      tiles_.push_back({axis.var, found != nullptr ? found->lengths : std::vector<VariableId>{},
                        space_.number(axis.extent)});
      if (found != nullptr) {
        tiles_.back().whole = space_.product(found->lengths);
      }
    }
    return true;
  }

  /// Elements of the copy that a block reads at a time; of indices that are no sums, one.
  ExprId region(const Operation& op, std::int32_t copy) {
    ExprPool pool(&sketch_.dag().pool());
    std::vector<ExprId> extents;
    for (ExprId body : op.bodies) {
      visit_expr(sketch_.dag().pool(), body, [&](ExprId expr) {
        const TensorRead* read = sketch_.dag().pool().as<TensorRead>(expr);
        if (read == nullptr || !extents.empty() ||
            static_cast<std::int32_t>(sketch_.dag().tensor(read->tensor).operation) != copy) {
          return;
        }
        const std::vector<std::int64_t> shape = shape_of(read->tensor);
        for (std::size_t d = 0; d < read->indices.size(); ++d) {
          extents.push_back(
              space_.pool().min(extent_of_index(pool, read->indices[d]), space_.number(shape[d])));
        }
      });
    }
    return space_.product(extents);
  }
  std::vector<std::int64_t> shape_of(TensorId tensor) const {
    const auto& shape = sketch_.dag().tensor(tensor).shape;
    return {shape.begin(), shape.end()};
  }
  ExprId extent_of_index(ExprPool& pool, ExprId index) {
    Linear sum;
    collect_linear(pool, index, 1, sum);
    std::vector<ExprId> terms = {space_.number(1)};
    for (const LinearTerm& term : sum.terms) {
      const VarRef* ref = pool.as<VarRef>(term.atom);
      const Tile* tile = ref == nullptr ? nullptr : find_item(tiles_, [&](const Tile& each) {
        return each.var == ref->var;
      });
      if (tile == nullptr) {
        continue;
      }
      const std::int64_t step = term.coefficient < 0 ? -term.coefficient : term.coefficient;
      terms.push_back(
          space_.pool().mul(space_.number(step), space_.pool().sub(tile->whole, space_.number(1))));
    }
    return space_.sum(terms);
  }

  VariableSpace& space_;
  const State& sketch_;
  const std::vector<SplitVariables>& splits_;
  const SpaceOptions& options_;
  std::vector<Tile> tiles_;
};

}  // namespace tensorsmith::detail
