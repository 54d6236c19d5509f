// Random complete states of a workload, as the first population of a search has them.
//
// Own design. Not here: which of them are fast.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::bench {

/// `count` of them (fewer if drawing fails too often). Throws Error for a wrong workload string.
inline std::vector<State> sample_states(const std::string& workload, const Target& target,
                                        std::size_t count, std::uint64_t seed = 1,
                                        SpaceOptions space_options = {}) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  if (!parsed) {
    throw Error(parsed.error());
  }
  SketchOptions options;
  options.hardware = hardware_params(target);
  options.hardware.num_cores = 1;
  space_options.hardware = options.hardware;
  const SearchSpace space(generate_sketches(parsed->dag, ansor_cpu_rules(), options),
                          space_options);
  std::vector<State> states;
  for (std::uint32_t i = 0; states.size() < count && i < 20 * count; ++i) {
    CounterRng rng(seed, 0, 0, i);
    if (std::optional<Candidate> candidate = draw_candidate(space, AnsorCpuPopulation{}, rng)) {
      states.push_back(std::move(candidate->state));
    }
  }
  return states;
}

}  // namespace tensorsmith::bench
