// SPDX-License-Identifier: Apache-2.0
// DraftProgram: what the draft must know of a state: the loops around every stage, and what its
// body reads and writes as they run.
//
// Floor 6. Own design. A stage inside another's loops sees which of its own axes those loops move.
// Not here: bodies (draft_operation.hpp), costs (draft_model.hpp), exact regions (sched/bounds,
// lower).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/cost/draft_operation.hpp"

namespace tensorsmith::detail {

/// One loop around a stage's body. A loop of several fused axes counts as several loops.
struct DraftLoop {
  double extent = 1;
  AxisMask moves = 0;
  std::int32_t stage = -1, iterator = -1;  ///< where it stands
  bool is_reduction = false, is_parallel = false;
  bool is_fused_inner = false;  ///< not the first part of its iterator
  bool is_solved = false;       ///< a value, not a loop: one iteration for each of the loops around
};

/// A state, read once. Stages that are placeholders or inlined have no operation and no loops.
class DraftProgram {
 public:
  explicit DraftProgram(const State& state)
      : state_(state), operations_(state.num_stages()), own_loops_(state.num_stages()) {
    const std::vector<StageDerivation> derivations = derive(state);
    for (std::size_t s = 0; s < state.num_stages(); ++s) {
      if (is_computed(s) && axes_fit(state.operation(s))) {
        operations_[s] = DraftReader(state, s, derivations[s]).take();
        own_loops_[s] = read_loops(s);
      }
    }
  }

  const State& state() const { return state_; }
  bool is_computed(std::size_t stage) const {
    return !state_.stage(stage).is_placeholder &&
           state_.stage(stage).compute_at != ComputeAt::inlined;
  }
  const DraftOperation& operation(std::size_t stage) const { return operations_[stage]; }

  /// Where `stage` is computed; nothing at root.
  std::optional<IteratorKey> place(std::size_t stage) const {
    const auto& places = state_.attach_map().stage_to_iterator;
    const auto found = places.find(static_cast<std::int32_t>(stage));
    return found == places.end() ? std::nullopt : std::optional<IteratorKey>(found->second);
  }

  /// The loops of other stages around `stage`, outermost first, and which of its axes they move.
  std::vector<DraftLoop> loops_around(std::size_t stage) const {
    const std::optional<IteratorKey> at = place(stage);
    if (!at) {
      return {};
    }
    const auto parent = static_cast<std::size_t>(at->stage);
    std::vector<DraftLoop> loops = loops_around(parent);
    for (const DraftLoop& loop : own_loops(parent)) {
      if (loop.iterator <= at->iterator) {
        loops.push_back(loop);
      }
    }
    for (DraftLoop& loop : loops) {
      loop.moves = translate(loop.moves, parent, stage);
    }
    return loops;
  }

  /// The stage's own loops, outermost first.
  const std::vector<DraftLoop>& own_loops(std::size_t stage) const { return own_loops_[stage]; }

  static std::size_t axis_index(AxisMask mask) {
    std::size_t a = 0;
    while (mask > 1) {
      mask >>= 1;
      ++a;
    }
    return a;
  }

  /// The axes of `to` that move when the axes in `mask` of `from`, around it, move.
  AxisMask translate(AxisMask mask, std::size_t from, std::size_t to) const {
    AxisMask moved = mask == 0 ? 0 : read_by(mask, from, to);
    for (std::size_t between = to + 1; mask != 0 && between < from; ++between) {
      const std::optional<IteratorKey> at = is_computed(between) ? place(between) : std::nullopt;
      if (at) {
        moved |= read_by(translate(mask, from, between), between, to);
      }
    }
    return moved;
  }

 private:
  static constexpr std::size_t most_axes = 48;
  static bool axes_fit(const Operation& op) {
    return op.axes.size() + op.reduce_axes.size() <= most_axes;
  }

  std::vector<DraftLoop> read_loops(std::size_t stage) const {
    const DraftOperation& read = operations_[stage];
    const auto& iterators = state_.stage(stage).iterators;
    std::vector<double> covered(read.num_axes, 1.0);  // of each axis by loops of its own
    std::vector<DraftLoop> loops;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      DraftLoop loop;
      loop.extent = static_cast<double>(iterators[i].extent.value_or(1));
      loop.stage = static_cast<std::int32_t>(stage);
      loop.iterator = static_cast<std::int32_t>(i);
      loop.is_reduction = iterators[i].kind == IteratorKind::reduction;
      loop.is_parallel = iterators[i].annotation == Annotation::parallel;
      loop.is_solved = has_item(read.solved, loop.iterator);
      bool is_first = true;
      for (AxisMask run : read.axes_of_iterators[i]) {
        loop.moves = AxisMask{1} << axis_index(run);
        loop.is_fused_inner = !is_first;
        is_first = false;
        loops.push_back(loop);
      }
      if (is_first) {
        loops.push_back(loop);
      } else if (!loops.back().is_fused_inner) {
        covered[axis_index(loops.back().moves)] *= loop.extent;
      }
    }
    share_fused(read, covered, loops);
    trim(read, loops);
    return loops;
  }

  AxisMask read_by(AxisMask mask, std::size_t reader, std::size_t producer) const {
    const DraftOperation& op = operations_[reader];
    AxisMask moved = 0;
    for (const DraftAccess& access : op.accesses) {
      if (access.is_store || state_.dag().tensor(access.tensor).operation != producer) {
        continue;
      }
      for (std::size_t d = 0; d < access.rank; ++d) {
        for (std::size_t a = 0; a < op.num_axes; ++a) {
          const bool is_moving = (mask >> a & 1) != 0 && op.row(access, d)[a] != 0;
          moved |= is_moving ? AxisMask{1} << d : 0;
        }
      }
    }
    return moved;
  }

  /// The extents of the parts of fused loops, from the innermost: what the axis has left; all of
  /// them together run as often as the loop.
  static void share_fused(const DraftOperation& read, std::vector<double>& covered,
                          std::vector<DraftLoop>& loops) {
    for (std::size_t end = loops.size(); end > 0;) {
      std::size_t begin = end - 1;
      while (loops[begin].is_fused_inner) {
        --begin;
      }
      double rest = loops[begin].extent;
      for (std::size_t i = end; i > begin && begin + 1 < end; --i) {
        DraftLoop& loop = loops[i - 1];
        const std::size_t axis = axis_index(loop.moves);
        const double left = ceil_of(read.extents[axis] / covered[axis]);
        loop.extent = i - 1 == begin ? rest : smaller_of(rest, larger_of(1.0, left));
        rest /= loop.extent;
        covered[axis] *= loop.extent;
      }
      end = begin;
    }
  }
  /// Loops that go beyond their axis (1021 in 16 x 64) run less often: the outermost is shortened.
  static void trim(const DraftOperation& read, std::vector<DraftLoop>& loops) {
    for (std::size_t axis = 0; axis < read.num_axes; ++axis) {
      double product = 1;
      DraftLoop* outermost = nullptr;
      for (DraftLoop& loop : loops) {
        if (loop.moves == AxisMask{1} << axis) {
          product *= loop.extent;
          outermost = outermost == nullptr && loop.extent > 1 ? &loop : outermost;
        }
      }
      if (outermost != nullptr && product > read.extents[axis]) {
        outermost->extent *= read.extents[axis] / product;
      }
    }
  }
  static double ceil_of(double x) {
    return static_cast<double>(static_cast<std::int64_t>(x + 0.999999));
  }

  const State& state_;
  std::vector<DraftOperation> operations_;
  std::vector<std::vector<DraftLoop>> own_loops_;
};

}  // namespace tensorsmith::detail
