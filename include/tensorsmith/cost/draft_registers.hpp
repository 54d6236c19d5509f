// SPDX-License-Identifier: Apache-2.0
// RegisterTile: how often a step of a reduction loads the values that its register tile reads.
//
// Floor 6. Own design. A value that one loop of the tile does not move is wanted again in the next
// iteration of that loop. Whether it waits in a register until then says lower/load_room.hpp; where
// more values wait than there are registers beside the accumulators, as many loads come instead, of
// these values or of accumulators. Not here: what a load costs (draft_model.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/cost/draft_terms.hpp"
#include "tensorsmith/lower/load_room.hpp"
#include "tensorsmith/support/small_vector.hpp"
#include "tensorsmith/support/sort.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

/// The loops of a tile (axis, extent), outermost first, as lower/shape_nest.hpp orders them: longer
/// ones outside, the vectors innermost. Positions in `tile`.
template <class Loops>
std::vector<std::size_t> order_in_registers(const Loops& tile, std::size_t vector_axis) {
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < tile.size(); ++t) {
    order.push_back(t);
  }
  sort_items(order, [&](std::size_t x, std::size_t y) {
    const bool is_last = tile[y].axis == vector_axis;
    return tile[x].axis != vector_axis && (is_last || tile[x].extent > tile[y].extent);
  });
  return order;
}

class RegisterTile {
 public:
  /// `accumulators`: vectors.
  RegisterTile(const Target& target, double accumulators)
      : target_(target), accumulators_(static_cast<std::int64_t>(accumulators)) {}

  /// The next loop inwards that moves these axes; of the vector loop, its vectors are the extent.
  void add_loop(AxisMask moves, double extent) {
    if (extent > 1) {
      loops_.push_back({moves, extent, 0});
    }
  }
  /// A value of each of these is loaded in a step; once all loops are known.
  void add_read(AxisMask moved_by) {
    double values = 1, waiting = 0;
    for (std::size_t d = loops_.size(); d-- > 0;) {
      loops_[d].loads += values;
      const bool moves = (loops_[d].moves & moved_by) != 0;
      waiting = moves ? waiting : values;
      values *= moves ? loops_[d].extent : 1;
    }
    waiting_ += waiting;
  }

  /// Times that each value of such a read is loaded in a step.
  double times_loaded(AxisMask moved_by, bool is_same_in_lanes) const {
    const double room = static_cast<double>(load_room(target_, accumulators_, is_same_in_lanes));
    const bool fits = target_.has_masks ||  // a product takes one of its operands from memory
                      static_cast<double>(accumulators_) + waiting_ + 1 <=
                          static_cast<double>(target_.num_vector_registers);
    double times = 1;
    for (const Loop& loop : loops_) {
      const bool is_kept = (loop.moves & moved_by) != 0 || (fits && loop.loads - 1 <= room);
      times *= is_kept ? 1 : loop.extent;
    }
    return times;
  }

 private:
  struct Loop {
    AxisMask moves;
    double extent;
    double loads;  ///< of one iteration, by all reads
  };
  const Target& target_;
  std::int64_t accumulators_;
  double waiting_ = 0;
  SmallVector<Loop, 6> loops_;
};

}  // namespace tensorsmith::detail
