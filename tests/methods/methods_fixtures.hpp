// SPDX-License-Identifier: Apache-2.0
// A small product that is built and, in place of a worker, timed by a clock that knows its id only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune/methods.hpp"
#include "tensorsmith/tune_tasks.hpp"

namespace tensorsmith::test {

inline TuneTask product_task(std::int64_t size = 32) {
  ops::GemmParams params;
  params.m = params.n = params.k = size;
  const ops::Workload gemm = ops::gemm(params);
  return {gemm.dag, Target::x86_64_v2(), gemm.name, gemm.nominal_flop};
}

inline SimulatedMeasurer clock_by_id() {
  return SimulatedMeasurer([](const CompiledCandidate& candidate) {
    return 1e4 + static_cast<double>(candidate.id % 1000);
  });
}

/// Trials of small populations, without workers.
inline TuneOptions quick_options(Measurer& measurer, std::int64_t trials) {
  TuneOptions options;
  options.budget = {0, trials};
  options.measurer = &measurer;
  options.verifies = false;
  options.cost_model = "random";
  options.round_size = 4;
  options.policy_params = {{"evolutionary_search_population", "16"},
                           {"evolutionary_search_num_iters", "1"},
                           {"sample_init_min_population", "8"}};
  return options;
}

/// What tune() or tune_tasks() refuses; empty: nothing.
inline std::string refusal_of(const TuneTask& task, const TuneOptions& options) {
  try {
    (void)tune(task, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct MethodsJournal {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("tensorsmith-methods-" + std::to_string(::getpid()) + ".jsonl"))
                         .string();
  MethodsJournal() { std::filesystem::remove(path); }
  ~MethodsJournal() { std::filesystem::remove(path); }
};

}  // namespace tensorsmith::test
