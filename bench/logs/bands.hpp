// SPDX-License-Identifier: Apache-2.0
// What the reference's trainings on halves of logs reached, and whether ours are below it.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "learned.hpp"

namespace tensorsmith::bench {

struct Band {
  double least = 1, most = 0;  ///< of its seeds
};

/// Of one log.
struct LogBands {
  std::set<std::size_t> train_records;
  std::set<std::size_t> left_out;  ///< that it could not lower
  /// By model and metric (pairwise, spearman, peak@1, peak@5): with running statistics of the norm,
  /// and normalised over the batch that is tested.
  std::map<std::string, std::map<std::string, std::array<Band, 2>>> bands;
};

/// Of "training_on_logs.json" and the index beside it (of `path` and of `index`); by log.
std::map<std::string, LogBands> read_bands(const std::string& path, const std::string& index);

/// Trains on the reference's half with all epochs, as often as there are seeds, and prints every
/// metric beside its bands. False: in some metric the best of our seeds is below the least of the
/// reference's, whichever way it normalises.
bool compare_with_bands(const LogBands& log, const std::string& learner,
                        const std::vector<TrainingSample>& samples,
                        const std::vector<std::size_t>& records, bool as_reference,
                        std::uint32_t num_seeds);

}  // namespace tensorsmith::bench
