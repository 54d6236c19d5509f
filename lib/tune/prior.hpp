// SPDX-License-Identifier: Apache-2.0
// Prior: what was decided for similar tasks is tried early, as far as it proves worth it.
//
// Private to lib/ and tests. Own design. Programs that were fast for tasks with other extents are
// carried over to this task's space (Neighbourhood::nearest_to): the lengths that are legal here
// and nearest, the same choices. Early batches hold some of them beside what the search proposes by
// itself, never more than a share. As soon as the best of them is behind the best of the search's
// own the others are dropped; so they can cost that share of a batch or two. If they are ahead the
// search learns from their results and goes on from them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tune/known_programs.hpp"
#include "tune/source_layer.hpp"

namespace tensorsmith {

/// A program that was fast for some other task.
struct SolvedProgram {
  std::string workload_key;
  std::vector<Step> steps;
  double ns = 0;
};

/// The fastest few programs of every other task in a journal that were measured for that target,
/// space and number of threads, before the first record of any of these runs: what a run learns
/// from is the same when it goes on from that journal.
std::vector<SolvedProgram> solved_before(const std::vector<Record>& records,
                                         std::span<const Record> runs);

/// Of those of tasks other than that one, carried over by `carry`, which may refuse; those with the
/// nearest extents first, of one task the fastest first, at most `most`, all different.
std::vector<State> carried_over(const std::vector<SolvedProgram>& solved,
                                const std::string& workload_key,
                                const Callback<std::vector<State>(const std::vector<Step>&)>& carry,
                                std::size_t most);

class Prior final : public SourceLayer {
 public:
  /// `programs` is asked once, by the first batch; `share` of a batch is the most that they take.
  Prior(std::unique_ptr<CandidateSource> source, Callback<std::vector<State>()> programs,
        double share, std::shared_ptr<const KnownPrograms> known)
      : SourceLayer(std::move(source)), programs_(std::move(programs)), share_(share),
        known_(std::move(known)) {}

  std::vector<State> propose(std::size_t n) override;
  void observe(std::span<const TrialOutcome> outcomes) override;
  void describe(TuneSummary& summary) const override;

 private:
  Callback<std::vector<State>()> programs_;
  double share_;
  std::shared_ptr<const KnownPrograms> known_;
  bool is_asked_ = false;
  std::vector<State> waiting_;                  ///< the next one last
  std::unordered_set<std::uint64_t> proposed_;  ///< by hash_steps
  PriorSummary summary_;
  double others_ns_ = 0;  ///< the best of the search's own so far; 0: none
};

}  // namespace tensorsmith
