// SPDX-License-Identifier: Apache-2.0
// latency_on_board: what the latency model says of a state on a GPU, simulated or real.
//
// Floor 10; compiled in lib/tune. Own design. Not here: the model (cost/gpu_latency.hpp).
#pragma once

#include <string>

#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/measure/measure_result.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// Lowers a state and estimates its time on the board; a program that the board cannot hold is a
/// fault.
Result<GpuLatency, MeasureFault> latency_on_board(const State& state, const Target& target);

/// What each kernel asks of the board and what its time is made of, for people.
std::string latency_text(const GpuLatency& latency);

}  // namespace tensorsmith
