// SPDX-License-Identifier: Apache-2.0
// Journal: a file of records, one JSON object a line, that only ever grows.
//
// Floor 6; compiled in lib/record (nlohmann/json). Own design, except that a step is written as in
// the reference's v0.6 logs (Ansor reference, ch. 2.3). Every line is one write to a file opened
// for appending, so a killed run loses at most the line it was writing; such a torn line is
// reported and skipped by readers, and the next run begins a new line behind it. Nothing is ever
// overwritten. Not here: databases, merging, resuming a search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/record/record.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// One sentence for people.
struct RecordError {
  std::string message;
};

/// `[["SP", 2, 0, 512, [2, 128, 2], 1], ...]` on one line. Booleans are 0 or 1.
std::string steps_to_text(const std::vector<Step>& steps);
/// Strict: unknown tags, missing or surplus fields and numbers outside their type are errors.
Result<std::vector<Step>, RecordError> steps_from_text(std::string_view text);

/// A line is a trial, or says which trial won the final ranking of its run: the same fields with
/// the times of the ranking, and another format name, so that readers of trials alone skip it.
enum class RecordKind : std::uint8_t { trial, winner };

/// Without a line end. Text that is not UTF-8 has its bad bytes replaced.
std::string record_to_line(const Record& record, RecordKind kind = RecordKind::trial);
/// Strict, as steps_from_text; fields that this version does not know are ignored.
Result<Record, RecordError> record_from_line(std::string_view line,
                                             RecordKind kind = RecordKind::trial);

struct JournalLine {
  RecordKind kind = RecordKind::trial;
  Record record;
};
/// The same of a line of either kind.
Result<JournalLine, RecordError> journal_line_from_text(std::string_view line);

/// The text of a state's steps names a candidate; equal steps, equal number.
std::uint64_t hash_steps(const std::vector<Step>& steps);

struct SkippedLine {
  std::int64_t number = 0;  ///< from 1
  std::string reason;
};

/// What the final ranking of a run chose.
struct Winner {
  Record record;
  std::size_t num_before = 0;  ///< trials before it in the file
};

struct JournalContents {
  std::vector<Record> records;       ///< the trials, in the order of the file
  std::vector<Winner> winners;       ///< one per run that ended in time, in the order of the file
  std::vector<SkippedLine> skipped;  ///< lines that are no records
  bool has_torn_end = false;         ///< the last line has no line end
};

/// The file may be compressed (gzip). Error: it cannot be read (support/file.hpp), or it is not
/// empty and no line of it is a record.
Result<JournalContents, RecordError> read_journal(const std::string& path);

/// Fastest ok trial of that workload (its name or its key), that target and number of threads;
/// empty target or 0 threads: any. Measures nothing.
std::optional<Record> best_record(const std::vector<Record>& records, std::string_view workload,
                                  std::string_view target = {}, std::int32_t num_threads = 0);
/// The same with the winners: trials of a run whose winner is known stand behind all that are not,
/// because a trial was timed alone and few times, a winner in turn with the others. Candidates that
/// `is_usable` turns down are passed over, the best first; empty: all are usable.
std::optional<Record> best_record(const JournalContents& contents, std::string_view workload,
                                  std::string_view target = {}, std::int32_t num_threads = 0,
                                  const Callback<bool(const Record&)>& is_usable = {});
/// The same of all ok trials that `is_wanted` takes.
std::optional<Record> best_record(const JournalContents& contents,
                                  const Callback<bool(const Record&)>& is_wanted,
                                  const Callback<bool(const Record&)>& is_usable);
Result<std::optional<Record>, RecordError> load_best(const std::string& path,
                                                     std::string_view workload,
                                                     std::string_view target = {},
                                                     std::int32_t num_threads = 0);

class Journal {
 public:
  /// Opens for appending; makes the file if it is missing, but no folder. A file that holds
  /// something other than records, or is compressed, is refused and left alone.
  static Result<Journal, RecordError> open(const std::string& path);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  /// On the disk's cache when it returns: survives kill -9 of this process.
  Result<Done, RecordError> append(const Record& record, RecordKind kind = RecordKind::trial);

  const std::string& path() const { return path_; }
  /// Lines that were there already and are no records; of a long file those in the middle are found
  /// by read_journal only.
  const std::vector<SkippedLine>& skipped() const { return skipped_; }

 private:
  Journal() = default;
  int file_ = -1;
  std::string path_;
  std::vector<SkippedLine> skipped_;
  bool is_torn_ = false;  // the last append wrote only a part
};

}  // namespace tensorsmith
