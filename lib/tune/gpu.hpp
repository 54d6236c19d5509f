// What tuning for a GPU does its own way: building, measuring on a simulated board, the search.
//
// Private to lib/. Own design. A candidate for a simulated board is its latency: nothing is
// compiled, nothing is run, nothing is verified.
#pragma once

#include <memory>
#include <string>

#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/search/policy_params.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tune/driver.hpp"
#include "tune/search.hpp"

namespace tensorsmith {

/// Lowers a state and estimates its time on the board; a program that the board cannot hold is a
/// fault.
Result<GpuLatency, MeasureFault> latency_on_board(const State& state, const Target& target);

/// The program of a state as CUDA C++, launches and buffers in comments. Throws Error.
std::string cuda_text(const LoopProgram& program, const Target& target, const std::string& name,
                      const std::string& comment);

/// What each kernel asks of the board and what its time is made of, for people.
std::string latency_text(const GpuLatency& latency);

std::unique_ptr<CandidateBuilder> make_simulated_builder(const Target& target);

/// Measures what that builder makes.
std::unique_ptr<Measurer> make_simulated_measurer(const Target& target, SimulatedDevice device);

/// The reference's rules, or the options' own sketches.
std::vector<State> make_gpu_sketches(const TuneTask& task, const TuneOptions& options,
                                     const SketchOptions& sketch_options);
SketchOptions gpu_sketch_options_for(const Target& target, const PolicyParams& params);

std::unique_ptr<SearchPolicy> make_gpu_policy(const TuneTask& task, const TuneOptions& options,
                                              const PolicyParams& params, PolicyOptions policy,
                                              std::vector<State> sketches, CostModel& model,
                                              ParallelFor parallel_for);

}  // namespace tensorsmith
