// SPDX-License-Identifier: Apache-2.0
// What tuning for a GPU does its own way: building, measuring on a simulated board, its texts.
// Simulated processors are measured alike.
//
// Private to lib/. Own design. A candidate for a simulated device is its latency: nothing is
// compiled, nothing is run, nothing is verified.
#pragma once

#include <string>

#include "tensorsmith/feature/program_view.hpp"
#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/tune/board_latency.hpp"
#include "tensorsmith/tune/candidate_builder.hpp"

namespace tensorsmith {

/// Whether its kernels keep the limits of the board, and are texts of a size that compiles soon.
bool is_worth_compiling(const LoopProgram& program, const Target& target);
/// Whether a candidate lowers, and is worth compiling.
bool is_worth_compiling(const ProgramView& candidate, const FeatureContext& context);

/// The first legal program of the reference's GPU space: as written a program has no threads.
/// Throws Error.
State first_gpu_state(const Shared<const ComputeDag>& dag, const Target& target);

Owned<CandidateBuilder> make_simulated_builder(const Target& target);
/// The same for a processor: a candidate is what the draft says of it.
Owned<CandidateBuilder> make_drafted_builder(const Target& target, std::int32_t num_threads);

/// Measures what these builders make.
Owned<Measurer> make_simulated_measurer(const Target& target, SimulatedDevice device);

}  // namespace tensorsmith
