// SPDX-License-Identifier: Apache-2.0
// How good a search is with the same trials, on a machine whose analytic estimate errs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tensorsmith/tune.hpp"

namespace tensorsmith::bench {

struct QualityOptions {
  std::string target = "sim:a100";  ///< or the name of a CPU: nothing is compiled or run
  std::int64_t trials = 200;
  int seeds = 3;
  int population = 64;
  double error = 0.05;                 ///< of the estimate, per decision, in powers of e
  TuneOptions tune;                    ///< cost model
  std::vector<std::string> ways;       ///< polish=0.1, diversity=2, prior=0.5, or several by commas
  std::vector<std::string> workloads;  ///< none: sixteen of all kinds
};

/// Every workload and seed searched plainly and in every way; times of the winners without noise,
/// and their geometric mean in relation to the plain search. Nothing depends on the clock.
nlohmann::ordered_json compare_searches(const QualityOptions& options, std::FILE* out);

}  // namespace tensorsmith::bench
