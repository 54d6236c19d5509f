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
  double min_ns = 0;                     ///< 0 unless ok
  double median_ns = 0;                  ///< 0 unless ok
  std::vector<double> samples_ns;        ///< one per timed sample, in order of time
  std::int64_t wall_ns = 0;              ///< the whole measurement, loading and checking included
  std::string message;                   ///< ok: empty, or why it was repeated; else why not

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

struct RankingResult {
  static constexpr std::size_t no_winner = std::numeric_limits<std::size_t>::max();

  std::vector<MeasureResult> results;  ///< in the order of the candidates
  std::size_t winner = no_winner;      ///< lowest median among the ok and not wrong ones
  bool is_tie = false;                 ///< the runner-up is inside the noise
  double min_peak_gflops = 0;          ///< slowest and fastest reading of the calibrator in between
  double max_peak_gflops = 0;
};

/// Sets winner and is_tie from `results`: a later candidate must be faster by more than
/// `tie_fraction` to displace an earlier one.
inline void choose_winner(RankingResult& ranking, double tie_fraction) {
  ranking.winner = RankingResult::no_winner;
  ranking.is_tie = false;
  double best = 0;
  for (std::size_t i = 0; i < ranking.results.size(); ++i) {
    const MeasureResult& result = ranking.results[i];
    if (!result.is_ok()) {
      continue;
    }
    if (ranking.winner == RankingResult::no_winner ||
        result.median_ns < best * (1 - tie_fraction)) {
      ranking.winner = i;
      best = result.median_ns;
    }
  }
  for (std::size_t i = 0; i < ranking.results.size(); ++i) {
    const MeasureResult& result = ranking.results[i];
    if (i != ranking.winner && result.is_ok() && result.median_ns <= best * (1 + tie_fraction)) {
      ranking.is_tie = true;
    }
  }
}

}  // namespace tensorsmith
