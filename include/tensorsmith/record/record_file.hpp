// SPDX-License-Identifier: Apache-2.0
// A file of records, whatever it is: a log of the Ansor reference, a journal, or both in one.
//
// Floor 6; compiled in lib/record. Every line says itself what it is, so files that were put
// together line by line are read too. Compressed ones (gzip) are unpacked. Not here: choosing among
// records (ansor_history.hpp), the formats (ansor_log.hpp, journal.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/record/journal.hpp"

namespace tensorsmith {

struct RecordLine {
  AnsorRecord ansor;              ///< of a journal's trial, what a log would say of it
  std::optional<Record> journal;  ///< of a journal's trial
};

struct RecordFile {
  std::vector<RecordLine> lines;     ///< trials, in the order of the file
  std::vector<Winner> winners;       ///< of the journals in it, as in JournalContents
  std::vector<SkippedLine> skipped;  ///< lines that are neither records nor comments
  bool is_journal() const;           ///< all that is in it came from journals
};

RecordFile record_file_from_text(std::string_view text);
/// Error: the file cannot be read (support/file.hpp), or it is not empty and no line of it is a
/// record; the message says which other log it is, if it is one.
Result<RecordFile, RecordError> read_record_file(const std::string& path);

/// The trial as a line of a journal: as it was there, or made of the log's record.
Record journal_record(const RecordLine& line);

}  // namespace tensorsmith
