// SPDX-License-Identifier: Apache-2.0
// Programs of workloads as the native search for processors draws them.
//
// Test support of this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::test {

struct DrawnProgram {
  State state;
  LoopProgram program;
};

class NativeDraws {
 public:
  /// `stream`: of random numbers, for who draws.
  NativeDraws(const Target& target, std::int32_t num_threads, std::uint32_t stream)
      : target_(target), native_(native_space_options()), stream_(stream) {
    native_.hardware = hardware_params(target);
    native_.hardware.num_cores = num_threads;
    options_.hardware = native_.hardware;
    options_.core_cache_bytes = 0;
  }

  /// Those of the next `tries` draws that can be lowered, `most` at most.
  std::vector<DrawnProgram> of(const std::string& text, std::size_t most, int tries) {
    const auto workload = ops::parse_workload(text);
    INFO(text << (workload ? "" : workload.error()));
    REQUIRE(workload);
    const SearchSpace space(generate_sketches(workload->dag, native_cpu_rules(), options_),
                            native_);
    std::vector<DrawnProgram> programs;
    for (int drawn = 0; programs.size() < most && drawn < tries; ++drawn) {
      CounterRng rng(seed(), stream_, num_drawn_++);
      auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng);
      if (!candidate) {
        continue;
      }
      if (auto program = lower(candidate->state, target_)) {
        programs.push_back({std::move(candidate->state), std::move(*program)});
      }
    }
    return programs;
  }
  std::uint32_t num_drawn() const { return num_drawn_; }

 private:
  Target target_;
  SpaceOptions native_;
  SketchOptions options_ = native_cpu_sketch_options();
  std::uint32_t stream_ = 0, num_drawn_ = 0;
};

}  // namespace tensorsmith::test
