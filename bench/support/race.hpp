// SPDX-License-Identifier: Apache-2.0
// One race: a kernel of ours beside every library that has the operation, in this process.
//
// Own design. Everybody gets the same operands, runs once untimed before each of its samples (so
// that all are equally warm), takes turns with the others, and is compared with the naive
// reference; a library whose result differs does not race. With several threads every turn begins
// after a pause: the threads of OpenMP and OpenBLAS keep a core busy for a while after their work.
// Not here: how our kernel came to be.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bench/support/calibrate.hpp"
#include "bench/support/peer.hpp"

namespace tensorsmith::bench {

struct RaceOptions {
  PackingClass packing = PackingClass::plain;
  int threads = 1;
  int pairs = 30;
  VectorIsa isa = host_vector_isa();  ///< of our code: its peak is what ours is measured against
  bool is_cold = false;               ///< evict the caches before every sample; 1 thread only
  std::function<bool()> is_stopped;   ///< true ends the race early
};

/// Of an operation that no library has, only the work is known.
struct Contest {
  std::optional<Problem> problem;
  Buffers buffers;
  double flop = 0;
  std::function<void()> ours;  ///< writes all of buffers.output, with `write_output` behind it
  std::function<void()> write_output = {};  ///< not timed; empty: there is nothing to do
  std::function<void()> rewind = {};        ///< brings back what a run overwrites; empty: nothing
  /// Another kernel of ours, timed in turn with the rest; empty: none.
  std::function<void()> instant;
};

/// {"ours_gflops", "peers": {name: {"gflops", "ratio", "ratio_p10", "ratio_p90", "impl"}},
/// "peak_fraction", "roofline_ns", "verified", "left_out": {name: reason}, ...}. With an instant
/// kernel, "instant_share" is its speed over that of ours. "verified" (null without a problem): our
/// result agrees with the reference, and the last run wrote the same bytes.
nlohmann::ordered_json race(const Contest& contest, const RaceOptions& options,
                            const Roofline& roofline, std::vector<FoundPeer>& peers);

}  // namespace tensorsmith::bench
