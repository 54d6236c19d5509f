// SPDX-License-Identifier: Apache-2.0
// SerialTwins: beside the programs for several threads that a search proposes, the best of them on
// one thread.
//
// Private to lib/ and tests. Own design. So a run with several threads never ends with a program
// that one thread would have been better for without having tried: the first batch has the twin of
// its first program, every later one that of the best measured program, unless it was proposed. The
// search learns from their results, so what it makes of a good one is serial as well. Where one
// program is all that is asked for (instant mode), the one with the shorter draft is it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tensorsmith/tune/driver.hpp"

namespace tensorsmith {

class SerialTwins final : public CandidateSource {
 public:
  /// `draft`: an estimate of a program, in cycles without those of starting threads; empty: there
  /// is none.
  explicit SerialTwins(std::unique_ptr<CandidateSource> source,
                       Callback<double(const State&)> draft = {})
      : source_(std::move(source)), draft_(std::move(draft)) {}

  std::vector<State> propose(std::size_t n) override;
  void observe(std::span<const TrialOutcome> outcomes) override;
  RankReport model_rank() const override { return source_->model_rank(); }
  void describe(TuneSummary& summary) const override { source_->describe(summary); }

 private:
  bool is_new(const State& state);
  std::optional<State> next_twin(const State& of);

  std::unique_ptr<CandidateSource> source_;
  Callback<double(const State&)> draft_;
  std::vector<State> held_;  ///< proposed by the source, to be proposed next
  bool is_first_ = true;
  std::unordered_set<std::uint64_t> proposed_;  ///< by hash_steps
  std::optional<State> best_;
  double best_ns_ = 0;
};

}  // namespace tensorsmith
