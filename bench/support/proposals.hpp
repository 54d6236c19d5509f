// SPDX-License-Identifier: Apache-2.0
// What a search of the native space measures first.
//
// Own design. Not here: states drawn at random (candidates.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/tune/methods.hpp"

namespace tensorsmith::bench {

/// The first `count` of a round of `round` programs; the seeds of the native space come first, half
/// of the round at most.
inline std::vector<State> proposed_states(const ops::Workload& workload, const Target& target,
                                          std::size_t count, std::size_t round,
                                          std::int32_t num_threads = 1, std::uint64_t seed = 1) {
  TuneTask task;
  task.dag = workload.dag;
  task.target = target;
  TuneOptions options;
  options.num_threads = num_threads;
  options.seed = seed;
  const Search search = make_search(task, options);
  std::vector<State> states;
  const std::vector<Proposal> batch = search.policy->propose(round);
  for (std::size_t i = 0; i < std::min(count, batch.size()); ++i) {
    states.push_back(batch[i].state);
  }
  return states;
}

}  // namespace tensorsmith::bench
