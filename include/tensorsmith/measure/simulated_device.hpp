// SPDX-License-Identifier: Apache-2.0
// SimulatedDevice: how noisy a device that does not exist is, and what goes wrong on it.
//
// Floor 6. Own design. Plain data; what it does is in simulated.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tensorsmith/measure/measure_result.hpp"
#include "tensorsmith/measure/virtual_clock.hpp"

namespace tensorsmith {

/// Probability of each fault, per candidate; what is left runs well.
struct SimulatedFaults {
  double load_error = 0;
  double hang = 0;
  double crash = 0;
  double out_of_bounds = 0;
  double wrong_result = 0;
  double nan_result = 0;
  double sticky_error = 0;   ///< the device's context is gone
  double out_of_memory = 0;  ///< of the device
  double worker_lost = 0;
  double throttling = 0;  ///< the clock went down: noticed, and measured again
};

/// A fault by the name of its member; the status that a candidate gets, ok: it is measured again.
struct SimulatedFault {
  std::string_view name;
  double SimulatedFaults::*probability;
  MeasureStatus status;
};
inline constexpr std::array<SimulatedFault, 10> simulated_faults{{
    {"load_error", &SimulatedFaults::load_error, MeasureStatus::load_error},
    {"hang", &SimulatedFaults::hang, MeasureStatus::run_timeout},
    {"crash", &SimulatedFaults::crash, MeasureStatus::crashed},
    {"out_of_bounds", &SimulatedFaults::out_of_bounds, MeasureStatus::out_of_bounds},
    {"wrong_result", &SimulatedFaults::wrong_result, MeasureStatus::wrong_result},
    {"nan_result", &SimulatedFaults::nan_result, MeasureStatus::nan_result},
    {"sticky_error", &SimulatedFaults::sticky_error, MeasureStatus::device_error},
    {"out_of_memory", &SimulatedFaults::out_of_memory, MeasureStatus::out_of_memory},
    {"worker_lost", &SimulatedFaults::worker_lost, MeasureStatus::worker_lost},
    {"throttling", &SimulatedFaults::throttling, MeasureStatus::ok},
}};

struct SimulatedDevice {
  std::uint64_t seed = 1;
  double noise = 0.02;    ///< standard deviation of one call, as a fraction of the latency
  double hiccups = 0.02;  ///< probability that a call takes three times as long
  SimulatedFaults faults;
  Calibration calibration{100, 256};
  VirtualCost cost;  ///< of a candidate, in seconds that nobody waits for
};

}  // namespace tensorsmith
