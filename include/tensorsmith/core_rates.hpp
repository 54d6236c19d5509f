// SPDX-License-Identifier: Apache-2.0
// CoreRates: what a core moves per cycle and waits for, where a target's other data do not say it.
//
// Floor 0. Own measurements (docs/decisions/0050-rates-as-data.md). Not here: measuring them
// (tune/calibration.hpp), what is moved (cost/draft_traffic.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tensorsmith {

/// As they are: what was fitted to AMD's Zen 5 with 32-byte vectors, and what the rows of other
/// cores begin with.
struct CoreRates {
  double loads_per_cycle = 2, stores_per_cycle = 1;      ///< that last
  std::array<double, 3> bytes_per_cycle = {62, 28, 10};  ///< into L1, L2, L3
  std::array<double, 3> way_bytes = {4096, 65536, 0};    ///< apart: same set; 0: spread by a hash
  double page_bytes = 4096;
  std::array<double, 2> num_pages = {72, 3000};  ///< of the translation buffers
  std::array<double, 2> page_miss = {7, 50};     ///< cycles: from the second one; a walk
  double streams = 10;                           ///< stretches that are waited for at the same time
  double usable_share = 0.8;   ///< of a cache: the rest holds what is just passing
  double hidden = 0.7;         ///< of the shorter of two costs that overlap
  double hidden_ahead = 0.95;  ///< the same of what is asked for ahead
  double block_lead = 0;    ///< cycles late of a block; 0: as of a line, less the more it is used
  double in_order = 0.95;   ///< of the time of a stream, if it is asked for in memory's order
  double tracked = 1e9;     ///< streams from memory that hardware fetches ahead
  double best_streams = 1;  ///< so many at a time come fastest from memory
  double stream_slope = 0;  ///< time the others take more, by times fewer or more
  double stream_start = 0;  ///< cycles until one from memory, longer than a line, is under way
  double asked_of_memory = 0;  ///< blocks take so many times as long; 0: asking ahead hides them
  double same_set = 0;         ///< cycles from one miss of L1 to the next one in the same set
  double window = 1;           ///< instructions that a core runs ahead; 1: it waits for every run
  double gather = 1.0;         ///< cycles per gathered or scattered element
  double call = 12;            ///< of one vector of exp, or a division
  double pipe_conflict = 0;    ///< cycles of a step with less than two to spare (step_of_products)
  double fold = 16;            ///< vectors of partial results become one value
  double loop_end = 0;         ///< leaving the loop of a run, where that is not unrolled
  double run_start = 24;       ///< filling and draining the pipeline, leaving a loop
  std::array<double, 3> latency = {14, 60, 300};  ///< cycles until a miss of L1, L2, L3 is there

  bool operator==(const CoreRates&) const = default;
};

/// visit(name, value) of every rate, in order; elements of arrays count from 1. `rates` may be
/// const.
template <class Rates, class Visit>
constexpr void for_each_rate(Rates& rates, const Visit& visit) {
  visit("loads_per_cycle", rates.loads_per_cycle);
  visit("stores_per_cycle", rates.stores_per_cycle);
  visit("bytes_per_cycle_l1", rates.bytes_per_cycle[0]);
  visit("bytes_per_cycle_l2", rates.bytes_per_cycle[1]);
  visit("bytes_per_cycle_l3", rates.bytes_per_cycle[2]);
  visit("way_bytes_l1", rates.way_bytes[0]);
  visit("way_bytes_l2", rates.way_bytes[1]);
  visit("way_bytes_l3", rates.way_bytes[2]);
  visit("page_bytes", rates.page_bytes);
  visit("num_pages_first", rates.num_pages[0]);
  visit("num_pages_second", rates.num_pages[1]);
  visit("page_miss_first", rates.page_miss[0]);
  visit("page_miss_second", rates.page_miss[1]);
  visit("streams", rates.streams);
  visit("usable_share", rates.usable_share);
  visit("hidden", rates.hidden);
  visit("hidden_ahead", rates.hidden_ahead);
  visit("block_lead", rates.block_lead);
  visit("in_order", rates.in_order);
  visit("tracked", rates.tracked);
  visit("best_streams", rates.best_streams);
  visit("stream_slope", rates.stream_slope);
  visit("stream_start", rates.stream_start);
  visit("asked_of_memory", rates.asked_of_memory);
  visit("same_set", rates.same_set);
  visit("window", rates.window);
  visit("gather", rates.gather);
  visit("call", rates.call);
  visit("pipe_conflict", rates.pipe_conflict);
  visit("fold", rates.fold);
  visit("loop_end", rates.loop_end);
  visit("run_start", rates.run_start);
  visit("latency_l1", rates.latency[0]);
  visit("latency_l2", rates.latency[1]);
  visit("latency_l3", rates.latency[2]);
}

namespace detail {

/// What is thought of a core that nothing else is known of: where fits to several cores agree (two
/// halves of 26 workloads on Zen 3 beside the rows below), what they agree on.
constexpr CoreRates any_core_rates() {
  CoreRates rates;
  rates.loads_per_cycle = 1.7;
  rates.latency[0] = 3;
  rates.window = 250;
  rates.same_set = 8;
  rates.streams = 20;
  rates.gather = 0.7;
  rates.call = 9;
  rates.pipe_conflict = 0.3;
  rates.fold = 8;
  rates.loop_end = 1;
  return rates;
}
constexpr CoreRates intel_server_rates() {
  CoreRates rates;
  rates.loads_per_cycle = 1.6;
  rates.bytes_per_cycle = {45, 11, 6};
  rates.page_miss = {12, 120};
  return rates;
}
constexpr CoreRates zen5_rates() {
  CoreRates rates;
  rates.loads_per_cycle = 1.8;
  rates.bytes_per_cycle = {64, 24, 11};
  rates.latency = {2, 40, 300};
  rates.hidden = 0.8;
  rates.page_miss = {1, 60};
  rates.tracked = 12;
  rates.window = 300;
  rates.run_start = 40;
  rates.hidden_ahead = 0.6;
  rates.block_lead = 50;
  rates.loop_end = 2;
  rates.in_order = 1;
  return rates;
}
constexpr CoreRates zen4_rates(bool is_wide) {
  CoreRates rates = is_wide ? CoreRates{} : any_core_rates();
  rates.page_miss = {1, is_wide ? 95.0 : 200.0};
  rates.same_set = 12;
  rates.tracked = 16;
  rates.best_streams = 9;
  rates.stream_slope = 0.2;
  rates.stream_start = 60;
  rates.asked_of_memory = 1.2;
  rates.hidden_ahead = 0.7;
  if (is_wide) {
    rates.window = 600;
    rates.loads_per_cycle = 1.15;
    rates.stores_per_cycle = 0.7;
    rates.bytes_per_cycle = {48, 12, 5};
    rates.streams = 30;
    rates.hidden = 0.8;
    rates.run_start = 40;
    rates.loop_end = 4;
    rates.latency[0] = 2;
  } else {
    rates.bytes_per_cycle = {34, 28, 5};
  }
  return rates;
}

/// Rates of a core, by LLVM's name of it, while its code has vectors of so many bits.
struct KnownRates {
  std::string_view core;
  std::int32_t least_vector_bits, most_vector_bits;
  CoreRates rates;
};
inline constexpr std::array<KnownRates, 11> known_rates{{
    {"skylake-avx512", 0, 512, intel_server_rates()},
    {"cascadelake", 0, 512, intel_server_rates()},
    {"cooperlake", 0, 512, intel_server_rates()},
    {"icelake-server", 0, 512, intel_server_rates()},
    {"sapphirerapids", 0, 512, intel_server_rates()},
    {"emeraldrapids", 0, 512, intel_server_rates()},
    {"graniterapids", 0, 512, intel_server_rates()},
    {"znver5", 512, 512, zen5_rates()},
    {"znver5", 0, 256, CoreRates{}},
    {"znver4", 512, 512, zen4_rates(true)},
    {"znver4", 0, 256, zen4_rates(false)},
}};

}  // namespace detail

namespace detail {

constexpr const KnownRates* find_known_rates(std::string_view core, std::int32_t vector_bits) {
  for (const KnownRates& row : known_rates) {
    if (row.core == core && row.least_vector_bits <= vector_bits &&
        vector_bits <= row.most_vector_bits) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace detail

constexpr bool has_known_rates(std::string_view core, std::int32_t vector_bits) {
  return detail::find_known_rates(core, vector_bits) != nullptr;
}
/// What is thought of a core before anything is measured: its row, or what is thought of any.
constexpr CoreRates known_rates_of(std::string_view core, std::int32_t vector_bits) {
  const detail::KnownRates* const row = detail::find_known_rates(core, vector_bits);
  return row != nullptr ? row->rates : detail::any_core_rates();
}

}  // namespace tensorsmith
