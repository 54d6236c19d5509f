// SPDX-License-Identifier: Apache-2.0
// SearchPolicy: proposes programs to measure, learns from the measurements.
//
// Floor 7. Own design: every search (evolution, gradient, ...) stands behind these two functions.
// Not here: budget, journal, building, measuring, cancellation; those are the driver's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/cost/ranking.hpp"
#include "tensorsmith/feature/features.hpp"
#include "tensorsmith/feature/program_view.hpp"
#include "tensorsmith/fwd.hpp"
#include "tensorsmith/ir/program_hash.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/search/guard_report.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// A program to measure. Its bounds are inferred; `text` identifies it.
struct Proposal {
  State state;
  std::string text;
  float score = 0.0F;      ///< what the cost model expects, in the model's own unit
  bool is_random = false;  ///< chosen to explore, not for its score
};

/// One measured program; also for programs of earlier runs that this policy never proposed.
struct Observation {
  State state;
  double throughput = 0.0;  ///< flop/s or 1/s, the same unit throughout; 0 = failed
  /// How it ended, why, and all samples (measure/measure_result.hpp); null where no more than the
  /// throughput is known.
  Shared<const MeasureResult> result = {};
};

class SearchPolicy {
 public:
  SearchPolicy() = default;
  SearchPolicy(const SearchPolicy&) = delete;
  SearchPolicy& operator=(const SearchPolicy&) = delete;
  virtual ~SearchPolicy() = default;

  virtual std::string_view name() const = 0;

  /// At most n programs, none of which was proposed or observed before. Fewer if no more were
  /// found; none means that the space looks exhausted.
  virtual std::vector<Proposal> propose(std::size_t n) = 0;

  virtual void observe(std::span<const Observation> results) = 0;

  /// How well the cost model ordered the programs of each round before it learned from them.
  virtual RankReport model_rank() const { return {}; }

  /// What the search is guarded against, one report each; none: it has no guards.
  virtual std::vector<GuardReport> guards() const { return {}; }
};

/// Calls body(0) ... body(count - 1), each once, in any order, on any threads; returns when all are
/// done. An empty function means: one after the other.
using ParallelFor = Callback<void(std::size_t count, const Callback<void(std::size_t)>& body)>;

inline void run_for(const ParallelFor& parallel_for, std::size_t count,
                    const Callback<void(std::size_t)>& body) {
  if (parallel_for) {
    parallel_for(count, body);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    body(i);
  }
}

/// What a program lowers to; nothing where lowering refuses it. Candidates that lower to the same
/// are one kernel, whatever their steps.
using ProgramIdentity = Callback<std::optional<ProgramHash>(const ProgramView&)>;

/// What a policy asks its driver for. All must be pure functions that may be called concurrently,
/// though not for one view. Views of one candidate share what is found out about it; functions of a
/// State fit as well, and states may be passed.
struct SearchCallbacks {
  /// Features of a state whose bounds are inferred, the blocks that the model wants; empty for a
  /// program that cannot be built.
  Callback<Features(const ProgramView&)> extract;
  /// Whether a program may be measured at all; empty = every program may.
  Callback<bool(const ProgramView&)> is_valid;
  /// An estimate of the time that needs no learning, in any unit; empty = there is none. Programs
  /// whose estimate is far above the best one are neither scored nor proposed.
  Callback<double(const ProgramView&)> draft;
  /// What the draft cannot see and a look at the lowered program shows: whether its inner loops
  /// have constant extents and test no conditions. Slower than the draft; asked about those only
  /// that would be proposed next. Others are proposed where there is nothing better. Empty = all
  /// are well.
  Callback<bool(const ProgramView&)> is_regular;
  /// Asked about those that would be proposed next, so that none is proposed that lowers to what
  /// was proposed before. Empty = texts of states tell programs apart.
  ProgramIdentity identity;
  /// How far the decisions of two programs are apart, in octaves of a length or other values
  /// (space/moves.hpp). Empty = batches are not spread.
  Callback<double(const State&, const State&)> distance;
  ParallelFor parallel_for;
  /// Whether the time for proposing is over: then what is drawn by now has to do, and proposals
  /// depend on the clock. Empty = it never is.
  Callback<bool()> is_late;

  bool late() const { return is_late && is_late(); }
};

/// As run_for, for draws and what is asked about them: when time is over only the first few of them
/// are made, so that there is something to propose.
inline void run_draws(const SearchCallbacks& callbacks, std::size_t count,
                      const Callback<void(std::size_t)>& body) {
  constexpr std::size_t num_always = 4;
  run_for(callbacks.parallel_for, count, [&](std::size_t i) {
    if (i < num_always || !callbacks.late()) {
      body(i);
    }
  });
}

}  // namespace tensorsmith
