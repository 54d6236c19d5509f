// SPDX-License-Identifier: Apache-2.0
// DraftFootprint: what an access touches, and how the values of a tensor lie in memory.
//
// Floor 6. Own design. Not here: who asks (draft_traffic.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensorsmith/cost/draft_nest_facts.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// What an access touches: `segments` stretches of `run` bytes that begin `stride` bytes apart.
struct DraftFootprint {
  double segments = 1, run = 0, stride = 0;

  double granules(double size) const {
    return stride < size ? larger_of(1.0, segments * stride / size)
                         : segments * larger_of(1.0, run / size + (run > size ? 0.5 : 0));
  }
  /// Room taken in a cache whose sets repeat every `way` bytes (a power of two; 0: never).
  double room(double line, double way) const {
    return larger_of(granules(line) * line, segments * smaller_of(apart(way), stride));
  }
  /// Bytes between the sets that stretches begin in; 0: in any.
  double apart(double way) const {
    const auto bytes = static_cast<std::int64_t>(stride);
    return way > 0 && bytes > 0 && segments > 1
               ? smaller_of(static_cast<double>(bytes & -bytes), way)
               : 0;
  }
  /// Cycles that a stretch waits for the sets of a cache of so many bytes, beyond `each` per line:
  /// what misses it in one set comes `in_turn` cycles apart.
  double wait_for_sets(double line, double way, double capacity, double in_turn,
                       double each) const {
    const double wait =
        way > 0 ? in_turn * apart(way) / way - larger_of(1.0, run / line) * each : 0;
    return wait > 0 ? larger_of(0.0, 1 - capacity / room(line, way)) * wait : 0;
  }
  /// What it would take up if its lines were spread over all sets as densely as over its own: much
  /// where rows lie nearly a multiple of the way apart.
  double room_of_its_sets(double line, double way) const {
    const double lines = granules(line) * line;
    if (way <= 0 || stride <= line || segments <= 1) {
      return lines;
    }
    const double beyond = stride - way * floor_of(stride / way);
    const double drift = smaller_of(beyond, way - beyond);
    const bool is_near = drift < line;
    return is_near ? lines * way / smaller_of(segments * drift + larger_of(run, line), way) : lines;
  }
};

/// How the values of a tensor lie in memory: pieces of its dimensions, outermost first.
struct DraftPiece {
  std::size_t dimension = 0;
  double extent = 1;  ///< positions of the piece
  double block = 1;   ///< positions of the dimension that one position of the piece covers
  double pad = 0;     ///< positions left empty behind the last one
};

}  // namespace tensorsmith::detail
