// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "tensorsmith/tune/task_file.hpp"

#include <algorithm>
#include <charconv>

#include "tensorsmith/ops/expression.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace tensorsmith {
namespace {

/// Where a workload ends: at the first space, or of index notation, which has spaces, at its last
/// one if a number alone follows a closing bracket or parenthesis.
std::size_t end_of_workload(const std::string& line) {
  if (!ops::is_expression(line)) {
    return line.find_first_of(" \t");
  }
  const std::size_t last = line.find_last_of(" \t");
  const std::size_t before = last == std::string::npos ? last : line.find_last_not_of(" \t", last);
  const bool is_weight = before != std::string::npos &&
                         (line[before] == ']' || line[before] == ')' || line[before] == '}') &&
                         line.find_first_not_of("0123456789.e+-", last + 1) == std::string::npos;
  return is_weight ? before + 1 : std::string::npos;
}

WeightedTask read_task(const std::string& line, const Target& target) {
  const std::size_t end = end_of_workload(line);
  WeightedTask task;
  task.task = named_task(line.substr(0, end), target);
  const std::size_t at = end == std::string::npos ? end : line.find_first_not_of(" \t", end);
  if (at != std::string::npos) {
    const std::string text = line.substr(at);
    const char* const last = text.data() + text.size();
    const auto read = std::from_chars(text.data(), last, task.weight);
    if (read.ec != std::errc() || read.ptr != last || !(task.weight > 0) || task.weight > 1e12) {
      throw Error("expected a weight above 0 after the workload, got " + in_quotes(text));
    }
  }
  return task;
}

}  // namespace

std::vector<WeightedTask> tasks_of_text(std::string_view text, const std::string& source,
                                        const Target& target) {
  std::vector<WeightedTask> tasks;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty()) {
      continue;
    }
    try {
      tasks.push_back(read_task(line, target));
    } catch (const Error& error) {
      throw Error(source + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (tasks.empty()) {
    throw Error("there are no tasks in " + in_quotes(source) +
                "; write one workload per line, e.g. "
                "gemm:512x512x512:f32, and its weight behind it");
  }
  return tasks;
}

}  // namespace tensorsmith
