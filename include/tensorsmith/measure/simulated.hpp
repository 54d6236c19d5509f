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
#include "tensorsmith/measure/winner.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {

/// Probability of each fault, per candidate; what is left runs well.
struct SimulatedFaults {
  double load_error = 0;
  double hang = 0;
  double crash = 0;
  double out_of_bounds = 0;
  double wrong_result = 0;
  double nan_result = 0;
  double worker_lost = 0;
};

struct SimulatedDevice {
  std::uint64_t seed = 1;
  double noise = 0.02;    ///< standard deviation of one call, as a fraction of the latency
  double hiccups = 0.02;  ///< probability that a call takes three times as long
  SimulatedFaults faults;
  Calibration calibration{100, 256};
};

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
    result.status = draw_status(rng.next_double());
    const double latency = latency_(candidate);
    const std::int64_t deadline = call_timeout_ns(racing, best_ns);
    if (result.status == MeasureStatus::ok && latency > static_cast<double>(deadline)) {
      result.status = MeasureStatus::run_timeout;
    }
    if (result.status == MeasureStatus::run_timeout) {
      result.wall_ns = deadline;
    }
    if (result.status != MeasureStatus::ok) {
      result.message = "simulated: " + std::string(name_of(result.status));
      return result;
    }
    double wall = 0;
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

  MeasureStatus draw_status(double draw) const {
    const SimulatedFaults& f = device_.faults;
    const std::pair<double, MeasureStatus> table[] = {
        {f.load_error, MeasureStatus::load_error},
        {f.hang, MeasureStatus::run_timeout},
        {f.crash, MeasureStatus::crashed},
        {f.out_of_bounds, MeasureStatus::out_of_bounds},
        {f.wrong_result, MeasureStatus::wrong_result},
        {f.nan_result, MeasureStatus::nan_result},
        {f.worker_lost, MeasureStatus::worker_lost},
    };
    for (const auto& row : table) {
      if (draw < row.first) {
        return row.second;
      }
      draw -= row.first;
    }
    return MeasureStatus::ok;
  }

  Latency latency_;
  SimulatedDevice device_;
};

}  // namespace tensorsmith
