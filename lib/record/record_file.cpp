// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/record_file.hpp"

#include <algorithm>
#include <utility>

#include "tensorsmith/record/convert.hpp"
#include "tensorsmith/record/foreign_log.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {
namespace {

/// A journal's line begins with its format; a log's has it at the end, if at all.
bool is_of_journal(std::string_view line) {
  const std::size_t brace = line.find_first_not_of(" \t");
  if (brace == std::string_view::npos || line[brace] != '{') {
    return false;
  }
  const std::size_t name = line.find_first_not_of(" \t", brace + 1);
  if (name == std::string_view::npos) {
    return false;
  }
  const std::string_view rest = line.substr(name);
  return !rest.starts_with("\"i\"") && !rest.starts_with("\"r\"") &&
         rest.find("\"tensorsmith-") != std::string_view::npos;
}

void read_line(std::string_view line, std::int64_t number, RecordFile& file) {
  if (line.empty() || line[0] == '#' || line.find_first_not_of(" \t\r") == std::string_view::npos) {
    return;
  }
  if (is_of_journal(line)) {
    Result<JournalLine, RecordError> read = journal_line_from_text(line);
    if (!read) {
      file.skipped.push_back({number, read.error().message});
    } else if (read->kind == RecordKind::winner) {
      file.winners.push_back({std::move(read->record), file.lines.size()});
    } else {
      AnsorRecord ansor = record_to_ansor(read->record);
      file.lines.push_back({std::move(ansor), std::move(read->record)});
    }
    return;
  }
  if (line[0] == ' ') {
    return;  // a comment of the reference's logs
  }
  Result<AnsorRecord, RecordError> record = ansor_record_from_line(line);
  if (record) {
    file.lines.push_back({std::move(record).value(), std::nullopt});
  } else {
    file.skipped.push_back({number, record.error().message});
  }
}

}  // namespace

bool RecordFile::is_journal() const {
  return std::all_of(lines.begin(), lines.end(),
                     [](const RecordLine& line) { return line.journal.has_value(); });
}

RecordFile record_file_from_text(std::string_view text) {
  RecordFile file;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    read_line(text.substr(0, end), number, file);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return file;
}

Result<RecordFile, RecordError> read_record_file(const std::string& path) {
  const Result<std::string, FileError> text = read_file(path);
  if (!text) {
    return fail(RecordError{text.error().message});
  }
  RecordFile file = record_file_from_text(*text);
  if (file.lines.empty() && file.winners.empty() && !file.skipped.empty()) {
    const std::string foreign = describe_foreign_log(*text);
    return fail(RecordError{in_quotes(path, 1000) +
                            (!foreign.empty() ? " " + foreign
                                              : " holds no records; line " +
                                                    std::to_string(file.skipped.front().number) +
                                                    ": " + file.skipped.front().reason)});
  }
  return file;
}

Record journal_record(const RecordLine& line) {
  return line.journal ? *line.journal : record_from_ansor(line.ansor);
}

}  // namespace tensorsmith
