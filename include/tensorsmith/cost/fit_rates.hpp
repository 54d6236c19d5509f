// SPDX-License-Identifier: Apache-2.0
// fit_rates: rates of a core under which the draft agrees best with programs that were timed.
//
// Floor 6. Own design. What the draft says need only be proportional to the time within a workload;
// fast programs count more; what the programs say little about stays as it was believed. A search
// along one rate after another, deterministic. Not here: timing them (tune/calibration.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensorsmith/core_rates.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct TimedProgram {
  State state;
  double ns = 0;          ///< of a call, > 0
  std::size_t group = 0;  ///< programs of one workload have the same
};

struct RatesFit {
  CoreRates rates;
  double error_before = 0;  ///< spread of log(time / draft) within workloads, in natural units
  double error_after = 0;
  std::size_t num_tried = 0;  ///< sets of rates
};

/// From `target.rates`, or what is known of cores of that name. `doubt` scales how far rates may go
/// from there: 1 is usual, 0 keeps them. Ends early, with the best so far, when `is_late` says so.
RatesFit fit_rates(std::span<const TimedProgram> programs, const Target& target,
                   std::int32_t num_threads = 1, double doubt = 1,
                   const Callback<bool()>& is_late = {});

/// visit(name, before, after) of every rate that is another one in `after`.
template <class Visit>
constexpr void for_each_change(const CoreRates& before, const CoreRates& after,
                               const Visit& visit) {
  std::array<double, 64> values{};
  std::size_t count = 0, next = 0;
  for_each_rate(before, [&](std::string_view, double value) { values[count++] = value; });
  for_each_rate(after, [&](std::string_view name, double value) {
    const double was = values[next++];
    if (value != was) {
      visit(name, was, value);
    }
  });
}

}  // namespace tensorsmith
