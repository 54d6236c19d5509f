// SPDX-License-Identifier: Apache-2.0
// draft_rates: what the draft believes of a target's core.
//
// Floor 6. Not here: the rates themselves (core_rates.hpp), what is moved (draft_traffic.hpp).
#pragma once

#include "tensorsmith/core_rates.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

/// Measured ones, or what is known of cores of that name.
inline CoreRates draft_rates(const Target& target) {
  // The host is a level of instructions, tuned for what it is.
  return target.rates
             ? *target.rates
             : known_rates_of(target.llvm_tune.empty() ? target.llvm_cpu : target.llvm_tune,
                              target.vector_bits);
}

}  // namespace tensorsmith::detail

namespace tensorsmith {

/// Nanoseconds of so many cycles at the nominal clock, or at 1 GHz where none is known.
inline double nominal_ns(double cycles, const Target& target) {
  return 1e3 * cycles / target.clock_mhz.value_or(1000);
}

}  // namespace tensorsmith
