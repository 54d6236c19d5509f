// SPDX-License-Identifier: Apache-2.0
// measure_once: one program, built, verified and timed as a trial of a run is.
//
// Floor 10; compiled in lib/tune. Own design. Not here: searching (tune.hpp), which program
// (tune/replay.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/backend.hpp"

namespace tensorsmith {

struct OnceOptions {
  std::int32_t num_threads = 1;
  bool verifies = true;
  MeasurerOptions measuring;
};

/// Throws Error where the target's code cannot be run here, the state cannot be compiled, or
/// nothing can be measured. That the program fails is a result.
MeasureResult measure_once(const TuneTask& task, const State& state,
                           const OnceOptions& options = {});

/// A program as tune() returns it, of a state that somebody knows: nothing is measured. Throws
/// Error if it cannot be compiled.
TuneResult compile_once(const TuneTask& task, const State& state, std::int32_t num_threads = 1);

}  // namespace tensorsmith
