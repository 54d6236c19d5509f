// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/foreign_log.hpp"

#include <array>
#include <cstddef>

namespace tensorsmith {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_spaces(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

/// `{"input": [...], "config": ..., "result": ...}`
bool is_autotvm_record(std::string_view line) {
  return line.starts_with("{\"input\"") || line.starts_with("{\"i\": [\"") ||
         (line.starts_with("{") && line.find("\"config\":") != std::string_view::npos &&
          line.find("\"input\":") != std::string_view::npos);
}

std::size_t skip_digits(std::string_view line, std::size_t at) {
  while (at < line.size() && is_digit(line[at])) {
    ++at;
  }
  return at;
}

/// `[workload number, [[trace, decisions], times, target, arguments]]`
bool is_metaschedule_record(std::string_view line) {
  const std::size_t end = line.starts_with("[") ? skip_digits(line, 1) : 0;
  if (end < 2 || end >= line.size() || line[end] != ',') {
    return false;
  }
  line = without_spaces(line.substr(end + 1));
  return line.starts_with("[[[");
}

/// `["structural hash", "module in base 64"]`
bool is_metaschedule_workload(std::string_view line) {
  const std::size_t end = line.starts_with("[\"") ? skip_digits(line, 2) : 0;
  return end > 2 && line.substr(end).starts_with("\",") &&
         without_spaces(line.substr(end + 2)).starts_with("\"");
}

struct ForeignLog {
  bool (*is_line)(std::string_view line);
  std::string_view what, lines, why;
};

constexpr std::array<ForeignLog, 3> foreign_logs = {{
    {&is_autotvm_record, "is a log of AutoTVM", "records",
     "whose configurations of TVM's templates are no schedules of ours"},
    {&is_metaschedule_record, "is a database of tuning records of MetaSchedule", "records",
     "whose traces are no schedules of ours"},
    {&is_metaschedule_workload, "is the table of workloads of a MetaSchedule database", "workloads",
     "which holds no schedules"},
}};

}  // namespace

std::string describe_foreign_log(std::string_view text) {
  const ForeignLog* known = nullptr;
  std::size_t count = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = without_spaces(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line[0] == '#') {
      continue;
    }
    for (const ForeignLog& log : foreign_logs) {
      known = known == nullptr && log.is_line(line) ? &log : known;
    }
    if (known == nullptr) {
      return {};
    }
    count += known->is_line(line) ? 1 : 0;
  }
  if (known == nullptr) {
    return {};
  }
  return std::string(known->what) + " (" + std::to_string(count) + " " + std::string(known->lines) +
         "), " + std::string(known->why) + "; it is not read";
}

}  // namespace tensorsmith
