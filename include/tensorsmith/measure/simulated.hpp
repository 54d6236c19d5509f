// SPDX-License-Identifier: Apache-2.0
// SimulatedMeasurer: a device that does not exist, for tests and for continuous integration.
//
// Floor 6. Own design: an analytic latency per candidate, seeded noise, injected faults. Everything
// is a pure function of (seed, candidate id), so results depend neither on the order of calls nor
// on the clock. It takes the same racing decisions as real workers. Not here: running any code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/measure/simulated_device.hpp"
#include "tensorsmith/measure/winner.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {

class SimulatedMeasurer final : public Measurer {
 public:
  /// Noise-free latency in nanoseconds, above 0.
  using Latency = Callback<double(const CompiledCandidate&)>;

  explicit SimulatedMeasurer(Latency latency, const SimulatedDevice& device = {})
      : latency_(std::move(latency)), device_(device) {}

  Result<Done, MeasureFault> prepare(const MeasureTask& task) override {
    const std::string problem = check_task(task);
    if (!problem.empty()) {
      return fail(MeasureFault{MeasureStatus::unknown_error, problem});
    }
    return Done{};
  }

  std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                     const MeasureContext& context) override {
    std::vector<MeasureResult> results(candidates.size());
    double best_ns = context.best_ns;
    std::int64_t spent_ns = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const bool is_stopped = (context.is_stopped && context.is_stopped()) ||
                              (context.max_wall_ns > 0 && spent_ns >= context.max_wall_ns);
      if (is_stopped) {
        results[i].status = MeasureStatus::cancelled;
        results[i].message = "stopped before it was measured";
      } else {
        results[i] = run(candidates[i], context.racing, best_ns);
      }
      spent_ns += results[i].wall_ns;
      if (results[i].is_ok() && (best_ns <= 0 || results[i].min_ns < best_ns)) {
        best_ns = results[i].min_ns;
      }
      if (context.on_result) {
        context.on_result(i, results[i]);
      }
    }
    return results;
  }

  RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                              const RankingPolicy& policy) override {
    RankingResult ranking;
    for (const CompiledCandidate& candidate : candidates) {
      RacingPolicy racing;
      racing.full_calls = policy.min_rounds > 5 ? policy.min_rounds : 5;
      racing.full_budget_ns = INT64_MAX / 2;
      racing.verify = false;  // was done when it was measured, if at all
      ranking.results.push_back(run(candidate, racing, 0));
    }
    ranking.min_peak_gflops = device_.calibration.peak_gflops_f32;
    ranking.max_peak_gflops = device_.calibration.peak_gflops_f32;
    choose_winner(ranking, policy, complexities(candidates));
    return ranking;
  }

  Result<Calibration, MeasureFault> calibrate() override { return device_.calibration; }

 private:
  MeasureResult run(const CompiledCandidate& candidate, const RacingPolicy& racing,
                    double best_ns) const {
    const std::uint32_t low = static_cast<std::uint32_t>(candidate.id);
    const std::uint32_t high = static_cast<std::uint32_t>(candidate.id >> 32);
    CounterRng rng(device_.seed, low, high);
    MeasureResult result;
    const SimulatedFault* const fault = draw_fault(rng.next_double());
    result.status = fault != nullptr ? fault->status : MeasureStatus::ok;
    const double latency = latency_(candidate);
    const std::int64_t deadline = call_timeout_ns(racing, best_ns);
    if (result.status == MeasureStatus::ok && latency > static_cast<double>(deadline)) {
      result.status = MeasureStatus::run_timeout;
    }
    if (result.status == MeasureStatus::run_timeout) {
      result.wall_ns = deadline;
    }
    if (result.status != MeasureStatus::ok) {
      result.message =
          "simulated: " + std::string(fault != nullptr ? fault->name : name_of(result.status));
      return result;
    }
    double wall = 0;
    if (fault != nullptr) {  // the readings at the lower clock are thrown away
      result.message = "simulated: " + std::string(fault->name) + "; measured again";
      wall = throttled_readings * latency;
    }
    const auto call = [&rng, &wall, this, latency] {
      // Sum of four uniforms: close to a normal distribution, the same on every machine.
      double normal = -2;
      for (int i = 0; i < 4; ++i) {
        normal += rng.next_double();
      }
      const double hiccup = rng.next_double() < device_.hiccups ? 3.0 : 1.0;
      const double drawn = latency * hiccup * (1 + device_.noise * 1.7320508 * normal);
      const double ns = drawn > 1 ? drawn : 1;
      wall += ns;
      return ns;
    };
    Race race(racing, best_ns);
    while (race.wants_warm_up()) {
      race.add_warm_up(call());
    }
    while (race.wants_sample()) {
      race.add_sample(call());
    }
    result.stage = race.stage();
    result.is_verified = racing.verify;
    result.samples_ns = race.samples();
    result.min_ns = race.min_ns();
    result.median_ns = race.median_ns();
    result.wall_ns = static_cast<std::int64_t>(wall);
    return result;
  }

  const SimulatedFault* draw_fault(double draw) const {
    for (const SimulatedFault& fault : simulated_faults) {
      const double probability = device_.faults.*fault.probability;
      if (draw < probability) {
        return &fault;
      }
      draw -= probability;
    }
    return nullptr;
  }

  static constexpr double throttled_readings = 10;

  Latency latency_;
  SimulatedDevice device_;
};

}  // namespace tensorsmith
