// SPDX-License-Identifier: Apache-2.0
// SourceLayer: a source of candidates that adds something to the one behind it.
//
// Private to lib/ and tests. Own design. Passes everything on that it does not change.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tensorsmith/tune/driver.hpp"

namespace tensorsmith {

class SourceLayer : public CandidateSource {
 public:
  explicit SourceLayer(std::unique_ptr<CandidateSource> source) : source_(std::move(source)) {}

  std::vector<State> propose(std::size_t n) override { return source_->propose(n); }
  void observe(std::span<const TrialOutcome> outcomes) override { source_->observe(outcomes); }
  RankReport model_rank() const override { return source_->model_rank(); }
  void spend(const BudgetUse& use) override { source_->spend(use); }
  void describe(TuneSummary& summary) const override { source_->describe(summary); }

 protected:
  CandidateSource& source() { return *source_; }

 private:
  std::unique_ptr<CandidateSource> source_;
};

}  // namespace tensorsmith
