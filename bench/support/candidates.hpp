// SPDX-License-Identifier: Apache-2.0
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
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::bench {

/// `count` of them (fewer if drawing fails too often), of the native space or that of the Ansor
/// reference. Throws Error for a wrong workload string.
inline std::vector<State> sample_states(const std::string& workload, const Target& target,
                                        std::size_t count, std::uint64_t seed = 1,
                                        bool is_native = true) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  if (!parsed) {
    throw Error(parsed.error());
  }
  SketchOptions options;
  options.hardware = hardware_params(target);
  options.hardware.num_cores = 1;
  options.core_cache_bytes = target.caches.l2_bytes.value_or(options.core_cache_bytes);
  SpaceOptions space_options = is_native ? native_space_options() : SpaceOptions{};
  space_options.hardware = options.hardware;
  if (is_native) {
    space_options.hardware.vector_unit_bytes = target.vector_bits / 8;
  }
  const SearchSpace space(is_native ? generate_sketches(parsed->dag, native_cpu_rules(), options)
                                    : generate_sketches(parsed->dag, ansor_cpu_rules(), options),
                          space_options);
  std::vector<State> states;
  for (std::uint32_t i = 0; states.size() < count && i < 20 * count; ++i) {
    CounterRng rng(seed, 0, 0, i);
    if (std::optional<Candidate> candidate =
            is_native ? draw_candidate(space, NativeCpuPopulation{}, rng)
                      : draw_candidate(space, AnsorCpuPopulation{}, rng)) {
      states.push_back(std::move(candidate->state));
    }
  }
  return states;
}

}  // namespace tensorsmith::bench
