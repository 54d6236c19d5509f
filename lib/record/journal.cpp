// SPDX-License-Identifier: Apache-2.0
// Journal files: appending, and reading what earlier runs left.
#include "tensorsmith/record/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensorsmith/record/foreign_log.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {
namespace {

/// What is looked at before a journal is written to: damage is at the end, and what is no journal
/// shows at the beginning.
constexpr std::int64_t looked_at_bytes = 32 << 10;
constexpr std::size_t longest_line = std::size_t{16} << 20;

RecordError file_error(const std::string& path, const char* what) {
  return RecordError{std::string(what) + " " + in_quotes(path, 1000) + ": " + std::strerror(errno)};
}

/// Keeps the lines of several runs that write to one journal apart. Where the file system knows no
/// locks there are none.
class FileLock {
 public:
  explicit FileLock(int file) : file_(file) { (void)::flock(file_, LOCK_EX); }
  ~FileLock() { (void)::flock(file_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

/// Which bytes of a file are read as lines only, not as records.
struct Unread {
  std::int64_t begin = 0, end = 0;
};

/// Splits the bytes it is fed into lines.
class LineReader {
 public:
  explicit LineReader(Unread unread) : unread_(unread) {}

  void feed(std::string_view bytes, JournalContents& out) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      if (line_.size() + part.size() > longest_line) {
        is_too_long_ = true;
        line_.clear();
      }
      if (!is_too_long_) {
        line_.append(part);
      }
      has_bytes_ = true;
      at_ += static_cast<std::int64_t>(part.size());
      if (end == std::string_view::npos) {
        return;
      }
      bytes.remove_prefix(end + 1);
      finish(out);
      ++at_;
    }
  }
  void finish(JournalContents& out) {
    ++number_;
    if (is_too_long_) {
      out.skipped.push_back({number_, "longer than 16 MiB"});
    } else if (at_ > unread_.begin && at_ < unread_.end && line_.starts_with('{') &&
               line_.ends_with('}')) {
      // Whoever reads the records says if this is none.
    } else if (line_.find_first_not_of(" \t\r") != std::string::npos) {
      Result<JournalLine, RecordError> read = journal_line_from_text(line_);
      if (!read) {
        out.skipped.push_back({number_, read.error().message});
      } else if (read->kind == RecordKind::winner) {
        out.winners.push_back({std::move(read->record), out.records.size()});
      } else {
        out.records.push_back(std::move(read->record));
      }
    }
    line_.clear();
    is_too_long_ = false;
    has_bytes_ = false;
  }
  bool has_rest() const { return has_bytes_; }

 private:
  Unread unread_;
  std::string line_;
  std::int64_t number_ = 0;
  std::int64_t at_ = 0;
  bool is_too_long_ = false;
  bool has_bytes_ = false;
};

/// `most`: of a file with more bytes only as much is read as records from the beginning, and from
/// the end.
Result<JournalContents, RecordError>
read_lines(const std::string& path, std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  Unread unread;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && facts.st_size > most) {
    unread = {most, facts.st_size - most};
  }
  JournalContents contents;
  LineReader lines(unread);
  const Result<Done, FileError> read =
      read_file_blocks(path, {}, [&](std::string_view block) { lines.feed(block, contents); });
  if (!read) {
    return fail(RecordError{read.error().message});
  }
  if (lines.has_rest()) {
    contents.has_torn_end = true;
    const std::size_t num_skipped = contents.skipped.size();
    lines.finish(contents);
    if (contents.skipped.size() > num_skipped) {
      contents.skipped.back().reason += " (the last line is cut off)";
    }
  }
  // One torn line alone is what a run killed at its first record leaves.
  const bool is_torn_only = contents.skipped.size() == 1 && contents.has_torn_end;
  const bool has_records = !contents.records.empty() || !contents.winners.empty();
  if (!has_records && !contents.skipped.empty() && !is_torn_only) {
    const Result<std::string, FileError> text = read_file(path);
    const std::string foreign = text ? describe_foreign_log(*text) : std::string();
    const SkippedLine& first = contents.skipped.front();
    const bool is_of_ansor = first.reason.rfind("format \"v0.", 0) == 0;
    return fail(RecordError{
        in_quotes(path, 1000) +
        (!foreign.empty() ? " " + foreign
                          : " is not a tensorsmith journal: line " + std::to_string(first.number) +
                                " is " + first.reason +
                                (is_of_ansor ? "; tensorsmith records reads logs of Ansor" : ""))});
  }
  return contents;
}

/// What a person asks for.
struct Wanted {
  std::string_view workload, target;
  std::int32_t num_threads;
  bool operator()(const Record& record) const {
    return record.is_ok() && (record.workload == workload || record.workload_key == workload) &&
           (target.empty() || record.target == target) &&
           (num_threads == 0 || record.num_threads == num_threads);
  }
};

/// Runs with the same settings count as one.
bool is_same_run(const Record& a, const Record& b) {
  return a.workload_key == b.workload_key && a.target == b.target && is_of_same_machine(a, b) &&
         a.num_threads == b.num_threads && a.space == b.space && a.policy == b.policy &&
         a.seed == b.seed;
}

}  // namespace

Result<JournalContents, RecordError> read_journal(const std::string& path) {
  return read_lines(path);
}

std::optional<Record> best_record(const std::vector<Record>& records, std::string_view workload,
                                  std::string_view target, std::int32_t num_threads) {
  const Wanted is_wanted{workload, target, num_threads};
  const Record* best = nullptr;
  for (const Record& record : records) {
    if (is_wanted(record) && (best == nullptr || record.min_ns < best->min_ns)) {
      best = &record;
    }
  }
  return best == nullptr ? std::nullopt : std::optional<Record>(*best);
}

std::optional<Record> best_record(const JournalContents& contents, std::string_view workload,
                                  std::string_view target, std::int32_t num_threads,
                                  const Callback<bool(const Record&)>& is_usable) {
  return best_record(contents, Wanted{workload, target, num_threads}, is_usable);
}

std::optional<Record> best_record(const JournalContents& contents,
                                  const Callback<bool(const Record&)>& is_wanted,
                                  const Callback<bool(const Record&)>& is_usable) {
  std::vector<const Record*> first, second;  // what nobody ranked lower, and the rest
  for (const Winner& winner : contents.winners) {
    if (winner.record.is_ok() && is_wanted(winner.record)) {
      first.push_back(&winner.record);
    }
  }
  for (std::size_t i = 0; i < contents.records.size(); ++i) {
    const Record& record = contents.records[i];
    if (!record.is_ok() || !is_wanted(record)) {
      continue;
    }
    bool is_ranked = false;
    for (const Winner& winner : contents.winners) {
      is_ranked = is_ranked || (i < winner.num_before && is_same_run(record, winner.record));
    }
    (is_ranked ? second : first).push_back(&record);
  }
  for (std::vector<const Record*>* list : {&first, &second}) {
    std::stable_sort(list->begin(), list->end(),
                     [](const Record* a, const Record* b) { return a->min_ns < b->min_ns; });
    for (const Record* record : *list) {
      if (!is_usable || is_usable(*record)) {
        return *record;
      }
    }
  }
  return std::nullopt;
}

Result<std::optional<Record>, RecordError> load_best(const std::string& path,
                                                     std::string_view workload,
                                                     std::string_view target,
                                                     std::int32_t num_threads) {
  const Result<JournalContents, RecordError> contents = read_journal(path);
  if (!contents) {
    return fail(contents.error());
  }
  return best_record(*contents, workload, target, num_threads);
}

Result<Journal, RecordError> Journal::open(const std::string& path) {
  Journal journal;
  journal.path_ = path;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) {
    std::error_code problem;
    if (!std::filesystem::is_directory(folder, problem)) {
      return fail(RecordError{"there is no folder " + in_quotes(folder.string(), 1000) +
                              " for the journal; make it first, or name another file"});
    }
  }
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) {
    const Result<JournalContents, RecordError> contents = read_lines(path, looked_at_bytes);
    if (!contents) {
      return fail(contents.error());
    }
    journal.skipped_ = contents->skipped;
  }
  journal.file_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (journal.file_ < 0) {
    return fail(file_error(path, "cannot open"));
  }
  // Looked at again: another run may be writing to it.
  const FileLock lock(journal.file_);
  char last = '\n';
  char first[2] = {};
  if (::pread(journal.file_, first, 2, 0) == 2 && first[0] == '\x1F' && first[1] == '\x8B') {
    return fail(RecordError{in_quotes(path, 1000) +
                            " is compressed (gzip), so nothing can be appended "
                            "to it: unpack it with gunzip"});
  }
  if (::fstat(journal.file_, &facts) != 0 ||
      (facts.st_size > 0 && ::pread(journal.file_, &last, 1, facts.st_size - 1) != 1)) {
    return fail(file_error(path, "cannot read"));
  }
  if (last != '\n' && ::write(journal.file_, "\n", 1) != 1) {
    return fail(file_error(path, "cannot write"));
  }
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)),
      skipped_(std::move(other.skipped_)), is_torn_(other.is_torn_) {}

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  std::swap(skipped_, other.skipped_);
  std::swap(is_torn_, other.is_torn_);
  return *this;
}

Journal::~Journal() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

Result<Done, RecordError> Journal::append(const Record& record, RecordKind kind) {
  // A disk that was full may have taken half a line: this one must not continue it.
  const std::string line = (is_torn_ ? "\n" : "") + record_to_line(record, kind) + '\n';
  const FileLock lock(file_);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      is_torn_ = is_torn_ || written > 0;
      return fail(file_error(path_, "cannot write"));
    }
    written += static_cast<std::size_t>(count);
  }
  is_torn_ = false;
  return Done{};
}

}  // namespace tensorsmith
