// SPDX-License-Identifier: Apache-2.0
// Lesson 11: two ways to search, one task, the same number of trials.
//
// "ansor" in the space "ansor" is the search of the Ansor paper with its parameters; "evolution" in
// the space "native" is this project's. Both measure with the same workers and are verified against
// the same reference result, so the two curves can be laid side by side.
// requires: llvm json
#include <cstdio>
#include <cstdlib>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune.hpp"

namespace ts = tensorsmith;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

/// The best time after `trials` trials, in microseconds; 0: none yet.
static double best_after(const ts::TuneSummary& summary, long long trials) {
  double best = 0;
  for (const ts::CurvePoint& point : summary.curve) {
    best = point.trial < trials ? point.best_ns / 1e3 : best;
  }
  return best;
}

int main() {
  const auto gemm = ts::ops::parse_workload("gemm:96x96x96:f32");
  require(gemm.has_value(), "the workload is understood");
  const ts::TuneTask task{gemm->dag, ts::host_target(), gemm->name, gemm->nominal_flop};

  ts::TuneOptions ansor;
  ansor.budget = {0, 24};
  ansor.policy = "ansor";
  ansor.space = "ansor";
  ansor.policy_params = {{"evolutionary_search_population", "256"}};  // small: this is a lesson
  ansor.random_numbers =
      ts::RandomSource::mersenne_twister;  // a seed samples what the reference samples
  const ts::TuneResult reference = ts::tune(task, ansor);

  ts::TuneOptions native;
  native.budget = ansor.budget;
  native.seed = ansor.seed;
  const ts::TuneResult own = ts::tune(task, native);

  require(reference.has_best() && own.has_best(), "both find a kernel");
  require(reference.summary.is_verified && own.summary.is_verified, "both kernels are right");
  require(reference.summary.trials == 24 && own.summary.trials == 24, "both had the same trials");
  std::printf("%8s %16s %16s\n", "trials", "ansor", "evolution");
  for (long long trials : {1, 2, 4, 8, 16, 24}) {
    std::printf("%8lld %13.2f us %13.2f us\n", trials, best_after(reference.summary, trials),
                best_after(own.summary, trials));
  }
  std::printf("%8s %13.2f us %13.2f us\n", "ranked", reference.summary.best_ns / 1e3,
              own.summary.best_ns / 1e3);
  std::printf("%8s %14.2f s %14.2f s\n", "in all", reference.summary.seconds, own.summary.seconds);
}
