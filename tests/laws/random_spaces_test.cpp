// SPDX-License-Identifier: Apache-2.0
// requires: mlp
// Whatever program somebody writes has a space of every kind, whose programs compute it.
#include <string>

#include "support/catch.hpp"
#include "support/full_count.hpp"
#include "support/gpu_programs.hpp"
#include "support/random_dags.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/methods.hpp"

using namespace tensorsmith;

namespace {

void check_spaces(const Target& target, std::uint32_t count) {
  CounterRng rng(test::seed(), 2);
  std::uint32_t num_programs = 0, num_refused = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    TuneTask task;
    task.dag = test::RandomDag(rng).make();
    task.target = target;
    CAPTURE(n, te::dag_text(*task.dag));
    const test::KnownResults known(*task.dag);
    struct Method {
      const char *space, *policy, *model;
    };
    const Method others[] = {
        {"ansor", "pruner", "random"}, {"ansor", "felix", "felix-mlp"}, {"native", "felix", ""}};
    for (const Method& method : {Method{"native", "evolution", "random"},
                                 Method{"ansor", "ansor", "random"}, others[n % 3]}) {
      CAPTURE(method.space, method.policy);
      TuneOptions options;
      options.space = method.space;
      options.policy = method.policy;
      options.cost_model = method.model;
      options.seed = n;
      if (options.policy != "felix") {
        options.policy_params = {{"evolutionary_search_population", "16"},
                                 {"evolutionary_search_num_iters", "1"}};
      }
      const Search search = make_search(task, options);
      for (const Proposal& proposal : search.policy->propose(3)) {
        CAPTURE(state_text(proposal.state));
        const auto program = lower(proposal.state, target);
        if (!program) {
          CHECK_FALSE(explain(program.error()).empty());
          ++num_refused;
          continue;
        }
        CAPTURE(to_text(*program));
        CHECK(known.wrong_with(*program) == "");
        ++num_programs;
      }
    }
  }
  CHECK(num_programs > 3 * count);
  CHECK(num_refused * 20 < num_programs);
}

}  // namespace

TEST_CASE("random programs: what searches propose for processors computes them") {
  check_spaces(Target::x86_64_v4(), test::full_count(test::scaled(60), 500));
}

TEST_CASE("random programs: what searches propose for GPUs computes them") {
  check_spaces(named_target("sim:a100").value(), test::full_count(test::scaled(60), 500));
}
