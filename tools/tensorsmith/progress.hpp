// SPDX-License-Identifier: Apache-2.0
// Progress of a tuning run on standard error: one live line on a terminal, plain lines elsewhere.
#pragma once

#include <array>
#include <string>

#include "tensorsmith/tune.hpp"

namespace tensorsmith::cli {

class ProgressPrinter {
 public:
  /// Quiet: prints nothing at all.
  explicit ProgressPrinter(bool is_quiet, bool is_simulated = false);
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void operator()(const TuneProgress& progress);
  /// Ends the live line.
  void finish();

 private:
  bool is_quiet_;
  bool is_terminal_;
  bool is_simulated_;
  bool has_line_ = false;
  double last_seconds_ = -1e9;
};

/// "[ 12.3 s] 143 trials, best 0.213 ms, 126 GFLOP/s (78 % of peak), 11.6 trials/s, failed: ..."
/// `is_simulated`: times are those of a board's model, and are called so.
std::string progress_text(const TuneProgress& progress, bool is_simulated = false);
/// "crashed 2, run_timeout 1"; empty if nothing failed.
std::string failures_text(const std::array<std::int64_t, num_measure_statuses>& statuses);

}  // namespace tensorsmith::cli
