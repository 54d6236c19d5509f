// SPDX-License-Identifier: Apache-2.0
// DraftRates: what a core moves per cycle and waits for, where the target's data do not say it.
//
// Floor 6. Own measurements. Not here: what is moved (draft_traffic.hpp).
#pragma once

#include <array>

#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

/// As they are: what is thought of a core that nothing else is known of, and of AMD's Zen 5 with
/// 32-byte vectors.
struct DraftRates {
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
  double window = 1;           ///< instructions that a core runs ahead; 1: it waits for every run
  double gather = 1.0;         ///< cycles per gathered or scattered element
  double call = 12;            ///< of one vector of exp, or a division
  double fold = 16;            ///< vectors of partial results become one value
  double loop_end = 0;         ///< leaving the loop of a run, where that is not unrolled
  double run_start = 24;       ///< filling and draining the pipeline, leaving a loop
  std::array<double, 3> latency = {14, 60, 300};  ///< cycles until a miss of L1, L2, L3 is there
};

/// Intel's server cores have their last cache behind a mesh; measured on Ice Lake. Two loads per
/// cycle do not last there: 30 x 16 tiles, which need as many, take 1.6 times as long as 14 x 32
/// ones (convolution of 56 x 56 x 64). Page misses as in a virtual machine, whose walks are two
/// walks (16 x 4096 x 4096: the order of programs that differ in the length of their runs).
/// AMD's Zen 4 has one load and half a store of 64 bytes per cycle (two and one of 32; 1.15 loads
/// where half of them are broadcasts), runs far enough ahead to hide misses of L1 and the start of
/// short runs, and fetches ahead from some 16 rows at a time: beyond that a product of few rows (1,
/// 4, 16 x 4096 x 4096) takes twice as long. Fitted to the times of 5,100 programs of 15 products
/// and convolutions with 64-byte vectors; what it hides, and what a miss of its first translation
/// buffer costs, to those of 4,000 more that searches had kept: products that read B in place were
/// thought to be 6 % slower than they are. With 32-byte vectors a step of a tile is half as long
/// and no longer hides a miss of each row: 5 x 16 tiles on rows of B 2 KB apart take 2.5 to 3.6 ms
/// for 512^3, on a copy of B 2.5. With 64-byte vectors what L2 delivers, the start and the end of a
/// run were fitted again to 1,436 programs that the model proposes for 16 workloads, and looked at
/// on 1,300 of 15 others, with their footprints counted as they are today: a tile of 1 x 64, which
/// reads B anew from L2 for every pixel, was thought to be free (best program by draft, share of
/// the fastest, geometric means: 0.79 --> 0.86, and 0.84 --> 0.91).
/// It fetches ahead best from seven to a dozen rows, as a loop shows that sums 64 MB by blocks of
/// rows, a line of each in turn (GB/s: 4 rows 14, 9 rows 18, 16 rows 16, 32 rows 9); the start of a
/// stretch costs as much as five lines, and to ask for a block besides costs more than it hides
/// (1,900 programs of 4 x 4096 x 4096: rank correlation 0.30 --> 0.50, best of ten by draft 0.64
/// --> 0.86 of the fastest; 31 other workloads: 0.84 --> 0.85, and 0.97 as before).
///
/// Zen 5 fetches ahead from a dozen rows. Fitted to the times of 11,101 programs of 21 products and
/// convolutions with 64-byte vectors, 9,000 of them those that searches of skinny products had
/// measured: what comes from its second cache comes with hardly a wait for the first line, at the
/// 64 bytes per cycle of its manual (best program by draft: 0.86 --> 0.95 of the fastest, geometric
/// mean, footprints counted anew included). Blocks of as few rows as it fetches ahead from are
/// there in time unless they are very short, and a run that is not unrolled takes two cycles more
/// (7,900 programs of 4 x 4096 x 4096: rank correlation 0.29 --> 0.47).
inline DraftRates draft_rates(const Target& target) {
  // The host is a level of instructions, tuned for what it is.
  const std::string& core = target.llvm_tune.empty() ? target.llvm_cpu : target.llvm_tune;
  DraftRates rates;
  for (const char* name : {"skylake-avx512", "cascadelake", "cooperlake", "icelake-server",
                           "sapphirerapids", "emeraldrapids", "graniterapids"}) {
    if (core == name) {
      rates.loads_per_cycle = 1.6;
      rates.bytes_per_cycle = {45, 11, 6};
      rates.page_miss = {12, 120};
    }
  }
  const bool is_wide = target.vector_bits > 256;
  if (core == "znver5" && is_wide) {
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
  }
  if (core == "znver4") {
    rates.page_miss = {1, 95};
    rates.tracked = 16;
    rates.window = 600;
    rates.best_streams = 9;
    rates.stream_slope = 0.2;
    rates.stream_start = 60;
    rates.asked_of_memory = 1.2;
    rates.hidden_ahead = 0.7;
    rates.loads_per_cycle = is_wide ? 1.15 : 2;
    rates.stores_per_cycle = is_wide ? 0.7 : 1;
    rates.bytes_per_cycle = {is_wide ? 48.0 : 16.0, 12, 5};
    rates.streams = 30;
    rates.hidden = is_wide ? 0.8 : 0.85;
    rates.run_start = is_wide ? 40 : 80;
    rates.loop_end = is_wide ? 4 : 0;
    rates.latency[0] = is_wide ? 2 : 14;
  }
  return rates;
}

}  // namespace tensorsmith::detail

namespace tensorsmith {

/// Nanoseconds of so many cycles at the nominal clock, or at 1 GHz where none is known.
inline double nominal_ns(double cycles, const Target& target) {
  return 1e3 * cycles / target.clock_mhz.value_or(1000);
}

}  // namespace tensorsmith
