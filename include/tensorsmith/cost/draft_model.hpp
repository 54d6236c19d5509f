// SPDX-License-Identifier: Apache-2.0
// draft_cycles: an estimate of a CPU program's time from its loops alone, before any measurement.
//
// Floor 6. Own design, in the spirit of a draft that prunes before the learned model looks closer
// (Pruner, ASPLOS 2025); traffic after the analytic models of Low et al. (TOMS 2016) and MOpt
// (ASPLOS 2021). Per stage:
//   core     arithmetic, loads and stores of one register tile as lower/shape_nest.hpp makes it,
//            whole tiles and tails apart; the start of every run of the reduction
//   caches   per level the bytes that must come from the next one: an operand is fetched anew
//            whenever more than the level holds was touched since
//   threads  the busiest one's share
// What is computed once, before the first call, costs nothing (sched/prepared.hpp).
// Not here: the loops (draft_program.hpp, draft_nest.hpp), footprints (draft_traffic.hpp), anything
// that measures or learns (corrected_draft.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// A draft and what it is made of, in cycles of one run, all stages together. Some of the parts
/// hide behind others, so that the sum is more than the total.
struct DraftParts {
  double total = 0;
  double core = 0;                 ///< arithmetic, loads and stores of the register tiles
  double tiles = 0;                ///< waiting for accumulators that come back
  double ahead = 0;                ///< of the levels: what is asked for in time
  std::array<double, 5> levels{};  ///< waiting for L1, L2, L3, the two translation buffers
};

/// An estimate for comparing programs of one workload; bounds must be inferred.
TENSORSMITH_INLINE DraftParts draft_parts(const State& state, const Target& target,
                                          std::int32_t num_threads = 1);

/// The total alone.
inline double draft_cycles(const State& state, const Target& target, std::int32_t num_threads = 1) {
  return draft_parts(state, target, num_threads).total;
}

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/cost/draft_model_body.hpp"
#endif
