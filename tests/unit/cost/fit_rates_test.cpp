// SPDX-License-Identifier: Apache-2.0
// requires: llvm mlp json
#include "tensorsmith/cost/fit_rates.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/tune/methods.hpp"

using namespace tensorsmith;

namespace {

/// Programs of some workloads, with the times of a core that has `rates`.
std::vector<TimedProgram> programs_of(const Target& target, const CoreRates& rates, double noise) {
  std::vector<TimedProgram> programs;
  Target timed = target;
  timed.rates = rates;
  std::size_t group = 0;
  for (const char* workload : {"gemm:64x96x128:f32", "gemm:8x256x512:f32", "gemm:96x96x768:f32",
                               "conv2d:n=1,h=14,w=14,ci=32,co=32,k=3,s=1,p=1",
                               "conv2d:n=1,h=14,w=14,ci=32,co=32,k=3,s=1,p=1,layout=nchw",
                               "depthwise:n=1,h=28,w=28,c=64,k=3,s=1,p=1"}) {
    const auto parsed = ops::parse_workload(workload);
    REQUIRE(parsed);
    TuneTask task;
    task.dag = parsed->dag;
    task.target = target;
    TuneOptions options;
    options.cost_model = "random";
    options.policy_params = {{"evolutionary_search_population", "32"},
                             {"evolutionary_search_num_iters", "1"}};
    const Search search = make_search(task, options);
    CounterRng rng(test::seed(), 3, static_cast<std::uint32_t>(group));
    for (Proposal& proposal : search.policy->propose(14)) {
      const double off = 1 + noise * (static_cast<double>(rng.next_below(2001)) / 1000 - 1);
      const double cycles = draft_cycles(proposal.state, timed);
      programs.push_back({std::move(proposal.state), 0.3 * off * cycles, group});
    }
    ++group;
  }
  return programs;
}

}  // namespace

TEST_CASE("rates are found from the times of programs, and no better ones than there are",
          "[long]") {
  for (const Target& target : {Target::x86_64_v3(), Target::from_name("znver5").value()}) {
    CAPTURE(target.name);
    const CoreRates believed = detail::draft_rates(target);
    CoreRates real = believed;
    real.loads_per_cycle = 1;
    real.bytes_per_cycle[0] = believed.bytes_per_cycle[0] / 3;
    real.latency[0] = 5;
    real.run_start = 4 * believed.run_start;
    real.hidden = 0.4;
    const std::vector<TimedProgram> programs = programs_of(target, real, 0.02);
    REQUIRE(programs.size() > 40);
    const RatesFit fit = fit_rates(programs, target, 1, 5);  // nothing much is believed
    CAPTURE(fit.error_before, fit.error_after, fit.num_tried);
    CHECK(fit.error_before > 0.001);
    CHECK(fit.error_after < 0.5 * fit.error_before);
    CHECK(fit.rates.run_start > believed.run_start);
    CHECK(fit.rates == fit_rates(programs, target, 1, 5).rates);
    CHECK(fit_rates(programs, target).error_after < fit.error_before);
    // What agrees already stays, and so does everything where nothing is doubted or there is no
    // time.
    const std::vector<TimedProgram> same = programs_of(target, believed, 0);
    CHECK(fit_rates(same, target).rates == believed);
    CHECK(fit_rates(programs, target, 1, 0).rates == believed);
    CHECK(fit_rates(programs, target, 1, 1, [] { return true; }).rates == believed);
    CHECK(fit_rates({}, target).rates == believed);
  }
}
