// SPDX-License-Identifier: Apache-2.0
// requires: json eigen
// Same seed and same times, same run: the steps of every proposal, byte for byte, on any number of
// search threads, with the learned model and the real features.
#include <filesystem>
#include <map>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/mlp.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/support/hash.hpp"
#include "unit/search/search_fixtures.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENSORSMITH_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENSORSMITH_HAS_SANITIZER 1
#endif
#endif

using namespace tensorsmith;

namespace {

using Times = std::map<std::uint64_t, MeasureResult>;  // by the hash of the steps

/// A machine whose times follow from the steps, with noise and faults.
MeasureResult simulate(const State& state) {
  SimulatedDevice device;
  device.faults.crash = 0.1;
  device.faults.hang = 0.05;
  SimulatedMeasurer measurer(
      [](const CompiledCandidate& candidate) {
        return 1e4 + static_cast<double>(candidate.id % 100'003);
      },
      device);
  CompiledCandidate candidate;
  candidate.id = hash_steps(state.steps());
  return measurer.measure(std::span(&candidate, 1), {})[0];
}

struct Run {
  std::vector<std::string> proposals;  ///< serialised steps, in order
  Times times;
};

/// Three rounds of `space`; with `recorded` times nothing is simulated.
Run run(const SearchSpace& space, std::uint64_t seed, ParallelFor parallel_for,
        const Times* recorded = nullptr) {
  MlpOptions mlp;
  mlp.seed = seed;
  mlp.steps_per_update = 30;
  MlpModel model(mlp);
  SearchCallbacks callbacks;
  callbacks.extract = [](const State& state) { return extract_features(state); };
  callbacks.draft = [](const State& state) { return draft_cycles(state, Target::x86_64_v3(), 1); };
  callbacks.parallel_for = std::move(parallel_for);
  PolicyOptions options;
  options.seed = seed;
  options.evolution.population = 64;
  options.evolution.num_generations = 3;
  EvolutionaryPolicy policy(space, model, callbacks, options);
  Run result;
  for (int round = 0; round < 3; ++round) {
    std::vector<Observation> observations;
    for (const Proposal& proposal : policy.propose(16)) {
      const std::vector<Step>& steps = proposal.state.steps();
      result.proposals.push_back(steps_to_text(steps));
      const std::uint64_t id = hash_steps(steps);
      if (recorded != nullptr) {
        REQUIRE(recorded->count(id) == 1);
      }
      const MeasureResult measured =
          recorded != nullptr ? recorded->at(id) : simulate(proposal.state);
      result.times.emplace(id, measured);
      observations.push_back({proposal.state, measured.is_ok() ? 1e9 / measured.min_ns : 0.0});
    }
    policy.observe(observations);
  }
  return result;
}

/// What a run searches unless told otherwise.
SearchSpace native_space_of(const Shared<const ComputeDag>& dag) {
  SketchOptions sketch_options;
  sketch_options.hardware.num_cores = 4;
  SpaceOptions options = native_space_options();
  options.hardware.num_cores = 4;
  return SearchSpace(generate_sketches(dag, ansor_cpu_rules(), sketch_options), options);
}

Shared<const ComputeDag> gemm(std::int64_t extent) {
  return test::matmul_dag(extent, extent, extent, true);
}

}  // namespace

TEST_CASE("same seed and recorded times: identical proposals on one thread and on two",
          "[threads]") {
  for (const SearchSpace& space : {native_space_of(gemm(96)), test::space_of(gemm(96))}) {
    const Run first = run(space, 5, {});
    CHECK(first.proposals.size() == 48);
    for (const std::size_t count : {1U, 2U, 3U}) {
      CAPTURE(count);
      const Run again = run(space, 5, test::threads(count), &first.times);
      CHECK(again.proposals == first.proposals);
    }
    CHECK(run(space, 6, {}).proposals != first.proposals);
  }
}

TEST_CASE("the journal of a run is enough to repeat it", "[threads]") {
  const SearchSpace space = test::space_of(test::row_sum_dag(24, 480));
  const Run first = run(space, 9, test::threads(2));
  // Through the text of a record and back.
  Times read;
  for (std::size_t i = 0; i < first.proposals.size(); ++i) {
    const auto steps = steps_from_text(first.proposals[i]);
    REQUIRE(steps);
    Record record;
    record.steps = steps.value();
    const MeasureResult& measured = first.times.at(hash_steps(record.steps));
    record.status = measured.status;
    record.min_ns = measured.min_ns;
    record.median_ns = measured.median_ns;
    record.num_threads = 1;
    const auto back = record_from_line(record_to_line(record));
    REQUIRE(back);
    MeasureResult result;
    result.status = back->status;
    result.min_ns = back->min_ns;
    read.emplace(hash_steps(back->steps), result);
  }
  CHECK(run(space, 9, {}, &read).proposals == first.proposals);
}

TEST_CASE("a population of 2048 stays below 300 MB") {
#if defined(TENSORSMITH_HAS_SANITIZER)
  test::skip("sanitizers keep freed memory, so sizes mean nothing");
  return;
#endif
  const pid_t child = ::fork();  // the other tests of this program must not count
  if (child == 0) {
    MlpModel model;
    SearchCallbacks callbacks;
    callbacks.extract = [](const State& state) { return extract_features(state); };
    PolicyOptions options;
    options.evolution = EvolutionOptions::reference();
    EvolutionaryPolicy policy(native_space_of(gemm(512)), model, callbacks, options);
    std::size_t num_proposed = 0;
    for (int round = 0; round < 2; ++round) {
      std::vector<Observation> observations;
      for (const Proposal& proposal : policy.propose(64)) {
        const MeasureResult measured = simulate(proposal.state);
        observations.push_back({proposal.state, measured.is_ok() ? 1e9 / measured.min_ns : 0.0});
      }
      num_proposed += observations.size();
      policy.observe(observations);
    }
    ::_exit(num_proposed == 128 ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = 0;
  rusage usage = {};
  REQUIRE(::wait4(child, &status, 0, &usage) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(std::int64_t{usage.ru_maxrss} * 1024 <= 300'000'000);
}
