// SPDX-License-Identifier: Apache-2.0
// MeasureResult: what one measurement found out. RankingResult: what the final interleaved one did.
//
// Floor 6. Own design. Plain data, stored in records by others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensorsmith/measure/race.hpp"
#include "tensorsmith/measure/status.hpp"

namespace tensorsmith {

struct MeasureResult {
  MeasureStatus status = MeasureStatus::unknown_error;
  RaceStage stage = RaceStage::warm_up;  ///< how far the race went
  bool is_verified = false;              ///< every output was compared with its reference
  /// Hard inputs too, if the task has some; asked of whoever is faster than the best so far and of
  /// all in a final ranking, so of every kernel that can become the best.
  bool is_hard_verified = false;
  double min_ns = 0;               ///< 0 unless ok
  double median_ns = 0;            ///< 0 unless ok
  std::vector<double> samples_ns;  ///< one per timed sample, in order of time
  std::int64_t wall_ns = 0;        ///< the whole measurement, loading and checking included
  std::string message;             ///< ok: empty, or why it was repeated; else why not

  bool is_ok() const { return status == MeasureStatus::ok; }
  std::size_t runs() const { return samples_ns.size(); }
};

/// Why something that is not a candidate failed (starting a worker, preparing a task).
struct MeasureFault {
  MeasureStatus status = MeasureStatus::unknown_error;
  std::string message;
};

/// Peak of one core as measured, in GFLOP/s (f32 multiply-adds, widest vectors).
struct Calibration {
  double peak_gflops_f32 = 0;
  std::int32_t vector_bits = 0;
};

/// Where a time lies; 0 .. 0: not known.
struct TimeInterval {
  double low_ns = 0, high_ns = 0;
  bool operator==(const TimeInterval&) const = default;
};

struct RankingResult {
  static constexpr std::size_t no_winner = std::numeric_limits<std::size_t>::max();

  std::vector<MeasureResult> results;  ///< in the order of the candidates
  std::size_t winner = no_winner;      ///< see choose_winner
  TimeInterval interval;               ///< of the winner's median, 95 %
  std::int32_t num_ties = 0;           ///< others that cannot be told from the fastest one
  double min_peak_gflops = 0;          ///< slowest and fastest reading of the calibrator in between
  double max_peak_gflops = 0;
};

}  // namespace tensorsmith
