// SPDX-License-Identifier: Apache-2.0
// Record: one trial of a tuning run, failures included. Plain data.
//
// Floor 6. Own design. What is needed to replay the candidate, to learn from it, and to say where
// it came from. Not here: text and files (journal.hpp), v0.6 log lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/measure/status.hpp"
#include "tensorsmith/sched/steps.hpp"

namespace tensorsmith {

/// What a log of the Ansor reference says that the fields of a record do not, as it stood there
/// (ansor_log.hpp), so that the log can be written again.
struct LogFields {
  std::optional<std::array<std::int64_t, 8>> hardware;
  std::string target_host;
  std::int64_t layout_rewrite = 0;
  std::vector<std::string> input_names;
  std::vector<double> costs;  ///< seconds
  std::int64_t error = 0;
  double all_cost = 0;  ///< seconds
  std::int64_t timestamp = 0;
  std::string other_fields;
  bool operator==(const LogFields&) const = default;
};

/// What readers of records take. Searches make fewer than 50 steps of a stage, and a computation
/// may have a thousand stages; the work that a record costs grows with the cube of the first
/// number.
constexpr std::size_t most_stage_steps = 1'000, most_record_steps = 20'000;

/// Empty, or what is too much.
std::string too_many_steps(const std::vector<Step>& steps);

struct Record {
  std::string workload;      ///< as a person writes it; the key for programs without such a name
  std::string workload_key;  ///< text that identifies the computation
  std::string target;        ///< Target::name
  std::string cpu;           ///< what the times were taken on; empty if unknown
  std::string machine;       ///< fingerprint of it (tune/calibration.hpp); empty if unknown
  std::string space;
  std::string policy;
  std::int32_t num_threads = 1;
  std::uint64_t seed = 0;
  std::int64_t round = 0;
  std::int64_t trial = 0;  ///< counts the trials of one run from 0
  std::vector<Step> steps;
  MeasureStatus status = MeasureStatus::unknown_error;
  bool is_verified = false;
  double min_ns = 0;     ///< 0 unless ok
  double median_ns = 0;  ///< 0 unless ok
  std::string message;   ///< empty if ok
  double seconds = 0;    ///< since the start of its run
  // Of a winner (RecordKind::winner) only:
  double low_ns = 0, high_ns = 0;  ///< 95 % interval of the median; 0: not known
  std::int32_t num_ties = 0;       ///< finalists that could not be told from the fastest one
  std::optional<LogFields> log;    ///< of a record that came from such a log

  bool is_ok() const { return status == MeasureStatus::ok; }
  bool operator==(const Record&) const = default;
};

/// Of the same processor, as far as both know it: in virtual machines different ones share a name.
inline bool is_of_same_machine(const Record& a, const Record& b) {
  return a.cpu == b.cpu && (a.machine.empty() || b.machine.empty() || a.machine == b.machine);
}

}  // namespace tensorsmith
