// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
#include "generation.hpp"

#include <chrono>
#include <thread>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/tune/methods.hpp"

namespace tensorsmith::bench {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

nlohmann::ordered_json time_generation(const std::string& workload, TuneOptions options,
                                       int population, int generations) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  if (!parsed) {
    throw Error(parsed.error());
  }
  const TuneTask task{parsed->dag, host_target(), parsed->name, parsed->nominal_flop};
  options.policy_params.insert(options.policy_params.begin(),
                               {{"evolutionary_search_population", std::to_string(population)},
                                {"evolutionary_search_num_iters", std::to_string(generations)}});
  const Search search = make_search(task, options);
  CounterRng rng(options.seed);
  for (int round = 0; round < 2; ++round) {
    std::vector<Observation> results;
    for (Proposal& proposal : search.policy->propose(64)) {
      results.push_back({std::move(proposal.state), 1e9 * (1 + rng.next_double())});
    }
    search.policy->observe(results);
  }
  const double begin = seconds_now();
  const std::size_t proposed = search.policy->propose(64).size();
  const double seconds = seconds_now() - begin;
  const double num_states = static_cast<double>(population) * (generations + 1);
  return {{"workload", workload},
          {"policy", options.policy},
          {"space", options.space},
          {"population", population},
          {"generations", generations},
          {"cores", std::thread::hardware_concurrency()},
          {"proposed", proposed},
          {"seconds", seconds},
          {"us_per_state", seconds * 1e6 / num_states}};
}

}  // namespace tensorsmith::bench
