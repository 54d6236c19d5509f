// SPDX-License-Identifier: Apache-2.0
// probe_core: what one core moves per cycle and waits for, measured.
//
// Floor 6; defined in lib/measure. Own design, after lmbench (chases, a line of each stream in
// turn); needs no counters and no rights, so it works in virtual machines. Not here: what is fitted
// to programs (cost/fit_rates.hpp), where results are kept (tune/calibration.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tensorsmith/core_rates.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// Empty: the size of that cache is not known, or the probe was interrupted before it.
struct CoreProbes {
  double ns_per_cycle = 0;
  /// Read from L2, from L3, from memory, in order.
  std::array<std::optional<double>, 3> bytes_per_cycle;
  /// Cycles of a load that hits L2, L3, memory, pages being mapped near.
  std::array<std::optional<double>, 3> latency;
  std::optional<double> num_pages;                 ///< of the first translation buffer
  std::array<std::optional<double>, 2> page_miss;  ///< cycles more: beyond it; of a walk
  std::optional<double> tracked;  ///< streams from memory that come ahead; 1e9: any
  std::optional<double> best_streams, stream_slope;  ///< see CoreRates
};

/// On the calling thread, some 0.3 s, three passes of which the best counts. `target`: sizes of the
/// caches, width of vectors. Ends early when `is_cancelled` says so.
CoreProbes probe_core(const Target& target, const Callback<bool()>& is_cancelled = {});

/// `rates` with what was measured in place of what was believed.
CoreRates with_probes(CoreRates rates, const CoreProbes& probes);

}  // namespace tensorsmith
