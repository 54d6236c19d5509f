// SPDX-License-Identifier: Apache-2.0
// draft_rates: what the draft believes of a target's core.
//
// Floor 6. Not here: the rates themselves (core_rates.hpp), what is moved (draft_traffic.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensorsmith/core_rates.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

/// The processor, by LLVM's name; the host is a level of instructions, tuned for what it is.
inline const std::string& core_of(const Target& target) {
  return target.llvm_tune.empty() ? target.llvm_cpu : target.llvm_tune;
}

/// What stands apart in one set of a cache; nothing where size or ways are not known, or where sets
/// are not numbered by bits of the address.
inline std::optional<std::int64_t> way_bytes_of(const std::optional<std::int64_t>& bytes,
                                                const std::optional<std::int32_t>& ways) {
  const std::int64_t way = bytes && ways && *ways > 0 ? *bytes / *ways : 0;
  return way > 0 && (way & (way - 1)) == 0 ? std::optional(way) : std::nullopt;
}

/// Measured ones, or what is known of cores of that name; what stands apart in one set of a cache
/// follows from its size and ways, where both are known.
inline CoreRates draft_rates(const Target& target) {
  if (target.rates) {
    return *target.rates;
  }
  CoreRates rates;  // no core of Arm has been measured
  if (target.architecture == Architecture::x86_64) {
    rates = known_rates_of(core_of(target), target.vector_bits);
  }
  const CacheSizes& caches = target.caches;
  const auto follow = [](double& rate, const std::optional<std::int64_t>& way_bytes) {
    rate = way_bytes ? static_cast<double>(*way_bytes) : rate;
  };
  follow(rates.way_bytes[0], way_bytes_of(caches.l1d_bytes, caches.l1d_ways));
  follow(rates.way_bytes[1], way_bytes_of(caches.l2_bytes, caches.l2_ways));
  return rates;
}

/// Cycles of a step of products that keep their pipes busy for `busy` cycles, each waiting for the
/// last one of the same accumulator. Pipes are chosen before operands are there, so some wait where
/// there is little to spare. `exposed`: share of the runs that no other ones overlap.
inline double step_of_products(double busy, const Target& target, const CoreRates& rates,
                               double exposed = 1) {
  const double latency = target.fma_latency.value_or(4);
  const double to_spare = busy - latency;
  const double conflicts = to_spare >= 2 ? 0 : to_spare <= 1 ? 1 : 2 - to_spare;
  return (busy > latency * exposed ? busy : latency * exposed) +
         exposed * conflicts * rates.pipe_conflict;
}

}  // namespace tensorsmith::detail

namespace tensorsmith {

/// Nanoseconds of so many cycles at the nominal clock, or at 1 GHz where none is known.
inline double nominal_ns(double cycles, const Target& target) {
  return 1e3 * cycles / target.clock_mhz.value_or(1000);
}

}  // namespace tensorsmith
