// SPDX-License-Identifier: Apache-2.0
// Logs of the Ansor reference: its records, one JSON array a line, read and written.
//
// Floor 6; compiled in lib/record. Ansor reference, ch. 3.3 to 3.5: format v0.6, byte for byte;
// older formats (v0.1 to v0.5, TenSet's files among them) differ in how many elements a task has.
// Unlike the reference, a line that is no record is reported with its number and skipped. Not here:
// our own journal (journal.hpp), which record is best (ansor_history.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/steps.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// num_cores, vector_unit_bytes, cache_line_bytes, max_shared_memory_per_block,
/// max_local_memory_per_block, max_threads_per_block, max_vthread_extent, warp_size.
using AnsorHardware = std::array<std::int64_t, 8>;

struct AnsorRecord {
  std::string workload_key;
  std::string target;                     ///< "llvm -keys=cpu -mcpu=skylake-avx512"
  std::optional<AnsorHardware> hardware;  ///< nothing in v0.1
  std::string target_host;
  std::int64_t layout_rewrite = 0;       ///< 0 none, 1 insert a transform, 2 transformed before
  std::vector<std::string> input_names;  ///< tensors that the user supplied
  std::vector<Step> steps;
  std::vector<double> costs;  ///< seconds; 1e10 if the measurement failed
  std::int64_t error = 0;     ///< Ansor reference, ch. 3.4; 0 is success
  double all_cost = 0;        ///< seconds that building and running took
  std::int64_t timestamp = 0;
  /// Fields beside "i", "r" and "v", which no version so far has, as JSON: `"x": [1, 2], "y": {}`.
  std::string other_fields;

  bool is_ok() const { return error == 0; }
  /// Seconds; 1e10 without a cost.
  double mean_cost() const;
  /// A program that was only made has no error and a cost of 0 (TenSet's programs to measure).
  bool is_measured() const { return is_ok() && mean_cost() > 0; }
  bool operator==(const AnsorRecord&) const = default;
};

/// Strict: an unknown step, a missing element or a number outside its type is an error.
Result<AnsorRecord, RecordError> ansor_record_from_line(std::string_view line);
/// Format v0.6 without a line end. Error: a step that the format does not have. Numbers keep six
/// significant digits, as the reference writes them.
Result<std::string, RecordError> ansor_record_to_line(const AnsorRecord& record);

struct AnsorLog {
  std::vector<AnsorRecord> records;  ///< in the order of the file
  std::vector<SkippedLine> skipped;  ///< lines that are neither records nor comments
};

/// Lines that begin with '#' or a space are comments, empty lines count as such.
AnsorLog ansor_log_from_text(std::string_view text);
/// The file may be compressed (gzip). Error: it cannot be read (support/file.hpp), or no line of it
/// is a record though it is not empty; the message says which other log it is, if it is one.
Result<AnsorLog, RecordError> read_ansor_log(const std::string& path);

}  // namespace tensorsmith
