// SPDX-License-Identifier: Apache-2.0
// Programs as the native search for processors draws them, of small workloads.
//
// Test support.
#pragma once

#include <optional>
#include <utility>

#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith::test {

/// Every operand may be packed, any fetched ahead, every result written past the caches.
inline SearchSpace small_native_space(const Shared<const ComputeDag>& dag, const Target& target) {
  SketchOptions options = native_cpu_sketch_options();
  options.hardware = hardware_params(target);
  options.hardware.num_cores = 2;
  options.hardware.vector_unit_bytes = 16;  // small axes fill vectors, others have rests
  options.core_cache_bytes = 0;
  SpaceOptions native = native_space_options();
  native.hardware = options.hardware;
  native.hardware.vector_unit_bytes = target.vector_bits / 8;
  native.min_prefetch_bytes = 0;
  native.min_streamed_bytes = 1;
  native.intrinsics = options.intrinsics = intrinsics_of(target);
  return SearchSpace(generate_sketches(dag, native_cpu_rules(), options), native);
}

/// A few mutations on; nothing where what was drawn is illegal.
inline std::optional<State> draw_native_state(const SearchSpace& space, CounterRng& rng) {
  std::optional<Candidate> candidate = draw_candidate(space, NativeCpuPopulation{}, rng);
  for (std::uint32_t i = rng.next_below(4); candidate && i > 0; --i) {
    std::optional<Candidate> mutant = NativeCpuMutators{}.mutate(space, *candidate, rng);
    if (mutant) {
      candidate = std::move(mutant);
    }
  }
  if (candidate && rng.next_below(3) == 0) {
    std::optional<Candidate> unrolled = detail::with_reduction_unroll(space, *candidate, rng);
    if (unrolled) {
      candidate = std::move(unrolled);
    }
  }
  if (candidate && rng.next_below(2) == 0) {
    const auto layouts = detail::layouts_of_rows(space, *candidate);
    if (!layouts.empty()) {
      candidate = detail::with_other_rows(space, *candidate, layouts, rng);
    }
  }
  if (!candidate || has_nested_parallel(candidate->state)) {
    return std::nullopt;
  }
  return std::move(candidate->state);
}

}  // namespace tensorsmith::test
