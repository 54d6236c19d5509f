// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/fit_rates.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/run_on_threads.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/draft_rates.hpp"

namespace tensorsmith {
namespace {

/// A rate as a coordinate that is at home in all real numbers: its logarithm, of what it exceeds
/// `least` by; or, of shares, the logarithm of the odds.
struct Coordinate {
  double CoreRates::*rate = nullptr;
  double* (*element)(CoreRates&) = nullptr;
  bool is_share = false;
  double offset = 0;  ///< added before the logarithm is taken: rates that may be 0
  double least = 0, most = 1e9;
  double spread = 0.7;  ///< how far, in the coordinate, known cores are apart

  double& of(CoreRates& rates) const { return element != nullptr ? *element(rates) : rates.*rate; }
  double get(CoreRates rates) const {
    const double value = std::clamp(of(rates), least, most);
    return is_share ? std::log(value / (1 - value)) : std::log(value + offset);
  }
  void set(CoreRates& rates, double coordinate) const {
    const double value = is_share ? 1 / (1 + std::exp(-coordinate)) : std::exp(coordinate) - offset;
    of(rates) = std::clamp(value, least, most);
  }
};

const std::vector<Coordinate>& coordinates() {
  const auto element = [](double* (*of)(CoreRates&), double least, double most, double spread) {
    return Coordinate{nullptr, of, false, 0, least, most, spread};
  };
  const auto rate = [](double CoreRates::*of, double offset, double least, double most,
                       double spread) {
    return Coordinate{of, nullptr, false, offset, least, most, spread};
  };
  const auto share = [](double CoreRates::*of, double spread) {
    return Coordinate{of, nullptr, true, 0, 0.02, 0.99, spread};
  };
  using R = CoreRates;
  static const std::vector<Coordinate> all = {
      rate(&R::loads_per_cycle, 0, 0.5, 4, 0.2),
      rate(&R::stores_per_cycle, 0, 0.25, 2, 0.2),
      element([](R& r) { return &r.bytes_per_cycle[0]; }, 4, 256, 0.4),
      element([](R& r) { return &r.bytes_per_cycle[1]; }, 2, 128, 0.4),
      element([](R& r) { return &r.bytes_per_cycle[2]; }, 0.5, 64, 0.4),
      element([](R& r) { return &r.latency[0]; }, 1, 60, 0.9),
      element([](R& r) { return &r.latency[1]; }, 4, 300, 0.5),
      element([](R& r) { return &r.latency[2]; }, 20, 2000, 0.5),
      element([](R& r) { return &r.page_miss[0]; }, 0.5, 60, 0.9),
      element([](R& r) { return &r.page_miss[1]; }, 5, 500, 0.6),
      rate(&R::streams, 0, 2, 100, 0.6),
      share(&R::usable_share, 0.6),
      share(&R::hidden, 0.6),
      share(&R::hidden_ahead, 1),
      share(&R::in_order, 1),
      rate(&R::block_lead, 20, 0, 500, 0.6),
      rate(&R::window, 30, 1, 2000, 1.2),
      rate(&R::gather, 0, 0.25, 8, 0.5),
      rate(&R::call, 0, 2, 80, 0.5),
      rate(&R::pipe_conflict, 0.3, 0, 4, 0.5),
      rate(&R::fold, 0, 2, 80, 0.5),
      rate(&R::loop_end, 4, 0, 40, 0.5),
      rate(&R::run_start, 0, 2, 200, 0.5),
      rate(&R::stream_start, 30, 0, 1000, 0.6),
      rate(&R::same_set, 4, 0, 60, 0.5),
  };
  return all;
}

class Fit {
 public:
  Fit(std::span<const TimedProgram> programs, const Target& target, std::int32_t num_threads,
      double doubt, const Callback<bool()>& is_late)
      : programs_(programs), target_(target), num_threads_(num_threads), doubt_(doubt),
        is_late_(is_late) {
    for (const TimedProgram& program : programs) {
      num_groups_ = std::max(num_groups_, program.group + 1);
    }
    best_ns_.assign(num_groups_, HUGE_VAL);
    for (const TimedProgram& program : programs) {
      best_ns_[program.group] = std::min(best_ns_[program.group], program.ns);
    }
    from_ = detail::draft_rates(target);
  }

  RatesFit run() {
    RatesFit fit;
    fit.rates = from_;
    fit.error_before = error(from_);
    double least = fit.error_before;
    std::vector<double> steps(coordinates().size(), 1);
    for (int round = 0; round < most_rounds; ++round) {
      bool is_better = false;
      for (std::size_t c = 0; c < coordinates().size() && !(is_late_ && is_late_()); ++c) {
        const Coordinate& along = coordinates()[c];
        bool has_moved = false;
        for (const double sign : {1.0, -1.0}) {
          CoreRates tried = fit.rates;
          along.set(tried, along.get(tried) + sign * steps[c] * along.spread * doubt_);
          const double loss = error(tried) + penalty(tried);
          if (loss < least - least_gain) {
            least = loss;
            fit.rates = tried;
            has_moved = true;
            break;
          }
        }
        steps[c] *= has_moved ? 1.5 : 0.5;
        is_better = is_better || has_moved || steps[c] > least_step;
      }
      if (!is_better) {
        break;
      }
    }
    fit.error_after = error(fit.rates);
    fit.num_tried = num_tried_;
    return fit;
  }

 private:
  static constexpr int most_rounds = 12;
  static constexpr double least_gain = 1e-6, least_step = 0.05;
  /// One spread away from what was believed costs as much as this much error of all workloads.
  static constexpr double belief = 0.002;

  /// Mean over workloads of the variance of log(time / draft), programs weighted by their speed.
  double error(const CoreRates& rates) {
    ++num_tried_;
    Target target = target_;
    target.rates = rates;
    std::vector<double> logs(programs_.size());
    run_on_threads(num_chunks, [&](std::size_t chunk) {
      for (std::size_t i = chunk; i < programs_.size(); i += num_chunks) {
        const double cycles = draft_cycles(programs_[i].state, target, num_threads_);
        logs[i] = std::log(programs_[i].ns / std::max(cycles, 1e-9));
      }
    });
    std::vector<double> weight(num_groups_), sum(num_groups_), squares(num_groups_);
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const std::size_t g = programs_[i].group;
      const double w = best_ns_[g] / programs_[i].ns;
      weight[g] += w;
      sum[g] += w * logs[i];
      squares[g] += w * logs[i] * logs[i];
    }
    double whole = 0, count = 0;
    for (std::size_t g = 0; g < num_groups_; ++g) {
      if (weight[g] > 0) {
        const double mean = sum[g] / weight[g];
        whole += squares[g] / weight[g] - mean * mean;
        ++count;
      }
    }
    return count > 0 ? whole / count : 0;
  }
  double penalty(const CoreRates& rates) const {
    double sum = 0;
    for (const Coordinate& along : coordinates()) {
      const double apart = (along.get(rates) - along.get(from_)) / (along.spread * doubt_);
      sum += apart * apart;
    }
    return belief * sum;
  }

  static constexpr std::size_t num_chunks = 8;

  std::span<const TimedProgram> programs_;
  const Target& target_;
  std::int32_t num_threads_;
  double doubt_;
  const Callback<bool()>& is_late_;
  std::size_t num_groups_ = 0, num_tried_ = 0;
  std::vector<double> best_ns_;
  CoreRates from_;
};

}  // namespace

RatesFit fit_rates(std::span<const TimedProgram> programs, const Target& target,
                   std::int32_t num_threads, double doubt, const Callback<bool()>& is_late) {
  if (programs.empty() || doubt <= 0) {
    return {detail::draft_rates(target), 0, 0, 0};
  }
  return Fit(programs, target, num_threads, doubt, is_late).run();
}

}  // namespace tensorsmith
