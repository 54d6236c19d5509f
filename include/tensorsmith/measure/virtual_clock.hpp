// SPDX-License-Identifier: Apache-2.0
// Seconds that a search would have taken on a board that is only simulated.
//
// Floor 6. Own design. A simulated board answers at once, so the real seconds of such a run say
// nothing of a search on the board. Instead: what the search itself computes (proposing, learning)
// counts as on cores of its own, and every candidate costs what building and measuring it is stated
// to. Not here: who adds up (tune/driver.hpp).
#pragma once

#include <compare>

#include "tensorsmith/measure/measure_result.hpp"

namespace tensorsmith {

/// Not convertible from or to a double: real seconds and these never meet by accident.
class VirtualSeconds {
 public:
  constexpr VirtualSeconds() = default;
  constexpr explicit VirtualSeconds(double count) : count_(count) {}

  constexpr double count() const { return count_; }
  constexpr VirtualSeconds& operator+=(VirtualSeconds other) {
    count_ += other.count_;
    return *this;
  }
  friend constexpr VirtualSeconds operator+(VirtualSeconds a, VirtualSeconds b) { return a += b; }
  friend constexpr auto operator<=>(const VirtualSeconds&, const VirtualSeconds&) = default;

 private:
  double count_ = 0;
};

/// What a candidate costs. By default what the published runs of the references take per trial on
/// GPUs, 1.3 s: one compiler at a time, one process that loads, sends the inputs and repeats a
/// kernel until 300 ms are over.
struct VirtualCost {
  double build_seconds = 0.7;
  double load_seconds = 0.3;  ///< module, inputs, comparison with the reference
  double least_run_seconds = 0.3;
  double num_least_calls = 2;  ///< one to warm up, one that counts

  VirtualSeconds of(const MeasureResult& result) const {
    if (result.status == MeasureStatus::instantiation_error ||
        result.status == MeasureStatus::compile_error) {
      return VirtualSeconds(build_seconds);
    }
    // One that crashed or ran out of time holds the board for as long as it took.
    const double calls = 1e-9 * (result.is_ok() ? num_least_calls * result.median_ns
                                                : static_cast<double>(result.wall_ns));
    const double least = result.is_ok() ? least_run_seconds : 0;
    return VirtualSeconds(build_seconds + load_seconds + (calls > least ? calls : least));
  }
};

}  // namespace tensorsmith
