// SPDX-License-Identifier: Apache-2.0
// DistinctPrograms: no two candidates of a run lower to the same program.
//
// Private to lib/ and tests. Own design. The outermost layer, so that it holds whoever proposes:
// the library's policies, the caller's, twins, neighbours. What is proposed again is no trial; the
// source is told the result that the program has already, as one more observation.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tune/known_programs.hpp"
#include "tune/source_layer.hpp"

namespace tensorsmith {

class DistinctPrograms final : public SourceLayer {
 public:
  /// Layers behind may look into `known`; it is filled here.
  DistinctPrograms(std::unique_ptr<CandidateSource> source, std::shared_ptr<KnownPrograms> known)
      : SourceLayer(std::move(source)), known_(std::move(known)) {}

  std::vector<State> propose(std::size_t n) override;
  void observe(std::span<const TrialOutcome> outcomes) override;
  void describe(TuneSummary& summary) const override;

 private:
  std::shared_ptr<KnownPrograms> known_;
  std::vector<State> repeated_;  ///< proposed again, not yet told
  std::int64_t num_repeated_ = 0;
};

}  // namespace tensorsmith
