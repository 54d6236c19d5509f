// SPDX-License-Identifier: Apache-2.0
// Polish: the last part of a budget measures the programs that are one decision away from the best.
//
// Private to lib/ and tests. Own design. What a cost model thinks of them is not asked: near the
// best one it knows little, and there are few enough to measure. They come in an order drawn by the
// seed, those of a better program as soon as there is one. When the neighbours of the best are
// known the search behind goes on. The last part begins by trials, or by the time of the last
// trial, so that a run which goes on from a journal begins it where it began.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensorsmith/support/callback.hpp"
#include "tune/known_programs.hpp"
#include "tune/source_layer.hpp"

namespace tensorsmith {

struct PolishOptions {
  double share = 0.1;  ///< of the budget
  std::uint64_t seed = 1;
  /// The programs one decision away that may be measured; none for one whose decisions nobody
  /// knows.
  Callback<std::vector<State>(const State&)> neighbours;
};

class Polish final : public SourceLayer {
 public:
  Polish(std::unique_ptr<CandidateSource> source, PolishOptions options,
         std::shared_ptr<const KnownPrograms> known)
      : SourceLayer(std::move(source)), options_(std::move(options)), known_(std::move(known)) {}

  std::vector<State> propose(std::size_t n) override;
  void observe(std::span<const TrialOutcome> outcomes) override;
  void spend(const BudgetUse& use) override;
  void describe(TuneSummary& summary) const override;

 private:
  bool has_begun() const { return begins_at_ns_ > 0; }
  void turn_to_best();

  PolishOptions options_;
  std::shared_ptr<const KnownPrograms> known_;
  BudgetUse use_;
  std::vector<State> best_;      ///< one, or none yet
  double best_ns_ = 0;           ///< 0: none yet
  double begins_at_ns_ = 0;      ///< the best when the last part began; 0: it has not
  bool is_turned_ = false;       ///< the neighbours are those of the best
  std::vector<State> waiting_;   ///< neighbours, the next one last
  std::vector<State> proposed_;  ///< neighbours of this round
  std::int64_t num_trials_ = 0;
  double polished_ns_ = 0;  ///< the best of the neighbours; 0: none
  std::uint32_t num_turns_ = 0;
};

}  // namespace tensorsmith
