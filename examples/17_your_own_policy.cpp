// SPDX-License-Identifier: Apache-2.0
// Lesson 17: search in a way of your own.
//
// A policy proposes programs and is shown how fast they were; budget, building, measuring,
// verifying, journal and final ranking stay the library's. This one takes programs at random and,
// every second time, the best one so far with one tile size drawn anew.
// requires: llvm json
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/search/evolution/mutate_tile_size.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/tune/methods.hpp"

namespace ts = tensorsmith;

class HillClimb final : public ts::SearchPolicy {
 public:
  explicit HillClimb(ts::SearchContext& context)
      : space_(std::move(context.space)), seed_(context.options.seed) {}

  std::string_view name() const override { return "hill climb"; }

  std::vector<ts::Proposal> propose(std::size_t n) override {
    std::vector<ts::Proposal> proposals;
    for (int tries = 0; tries < 1000 && proposals.size() < n; ++tries) {
      ts::CounterRng rng(seed_, 0, 0, next_++);  // the same seed, the same run
      std::optional<ts::Candidate> found =
          best_ && next_ % 2 == 0 ? ts::MutateTileSize{}.mutate(space_, *best_, rng)
                                  : ts::draw_candidate(space_, ts::NativeCpuPopulation{}, rng);
      if (found && proposed_.insert(ts::hash_steps(found->state.steps())).second) {
        proposals.push_back({found->state});
      }
    }
    return proposals;  // none: the space is exhausted, which ends the run
  }

  void observe(std::span<const ts::Observation> results) override {
    for (const ts::Observation& result : results) {
      if (result.throughput > best_throughput_) {  // 0: it failed
        best_throughput_ = result.throughput;
        const std::vector<ts::Step>& steps = result.state.steps();
        best_ = space_.build(steps, space_.sketch_of(steps));
      }
    }
  }

 private:
  ts::SearchSpace space_;
  std::uint64_t seed_;
  std::uint32_t next_ = 0;
  std::set<std::uint64_t> proposed_;
  std::optional<ts::Candidate> best_;
  double best_throughput_ = 0;
};

int main() {
  ts::ops::GemmParams params;
  params.m = 64, params.n = 64, params.k = 64;
  const ts::ops::Workload gemm = ts::ops::gemm(params);

  ts::TuneOptions options;
  options.budget = {0, 24};
  options.round_size = 8;
  options.policy = "hill climb";  // what records say; not a name that the library has
  options.make_policy = [](ts::SearchContext& context) -> ts::Owned<ts::SearchPolicy> {
    return ts::make_owned<HillClimb>(context);
  };
  const ts::TuneResult result =
      ts::tune({gemm.dag, ts::host_target(), gemm.name, gemm.nominal_flop}, options);
  std::printf("%lld trials, best %.0f ns, %s\n", static_cast<long long>(result.summary.trials),
              result.summary.best_ns, result.summary.is_verified ? "verified" : "not verified");
  return result.has_best() && result.summary.is_verified && result.summary.trials == 24 ? 0 : 1;
}
