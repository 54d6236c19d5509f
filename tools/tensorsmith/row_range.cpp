// SPDX-License-Identifier: Apache-2.0
#include "row_range.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "interrupt.hpp"
#include "tensorsmith/codegen/c_like_names.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/export.hpp"
#include "tensorsmith/tune/measure_task.hpp"

namespace tensorsmith::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc()) {
    throw Error("a range of rows has a number that is too large: " + in_quotes(text));
  }
  return value;
}

Json range_json(const RangeArguments& arguments, const RangeResult& result) {
  Json json;
  json["workload"] = arguments.common.workload;
  json["target"] = arguments.common.target;
  json["threads"] = arguments.common.num_threads;
  json["tuned"] = result.num_tuned;
  json["trials"] = result.trials;
  json["seconds"] = result.seconds;
  json["expected_worst_ratio"] =
      std::isfinite(result.worst_ratio) ? Json(result.worst_ratio) : Json(nullptr);
  json["cancelled"] = result.is_cancelled;
  json["journal"] = arguments.tune.database;
  json["kernels"] = Json::array();
  for (std::size_t k = 0; k < result.members.size(); ++k) {
    json["kernels"].push_back({{"rows", result.plan.sizes[k]},
                               {"best_ns", result.members[k].summary.best_ns},
                               {"verified", result.members[k].summary.is_verified}});
  }
  json["plan"] = Json::array();
  for (std::int64_t rows = result.plan.first; result.has_all() && rows <= result.plan.last;
       ++rows) {
    const auto at = static_cast<std::size_t>(rows);
    json["plan"].push_back(
        {{"rows", rows},
         {"first_part", result.plan.sizes[static_cast<std::size_t>(result.plan.next[at])]},
         {"ns", result.plan.ns[at]}});
  }
  return json;
}

void print_range(const RangeArguments& arguments, const RangeResult& result) {
  const RangePlan& plan = result.plan;
  std::string sizes;
  for (const std::int64_t size : plan.sizes) {
    sizes += (sizes.empty() ? "" : " ") + std::to_string(size);
  }
  fmt::print("{}: {} kernels, for {} rows\n", arguments.common.workload, plan.sizes.size(), sizes);
  // Where the parts are most, and the ends.
  std::int64_t last_printed = 0;
  for (const std::int64_t rows : {plan.first, plan.rows_with_most_parts(), plan.last}) {
    if (rows != last_printed) {
      const std::size_t parts = plan.parts(rows).size();
      fmt::print("{} rows: {} in {}\n", rows,
                 duration_text(plan.ns[static_cast<std::size_t>(rows)]),
                 parts == 1 ? std::string("one call") : std::to_string(parts) + " parts");
    }
    last_printed = rows;
  }
  if (std::isfinite(result.worst_ratio)) {
    fmt::print("longest next to what neighbours let expect: {:.2f} times\n", result.worst_ratio);
  } else {
    fmt::print("the time did not last for kernels of more rows\n");
  }
  fmt::print("{} kernels tuned, {} trials in {:.1f} s\njournal: {}\n", result.num_tuned,
             result.trials, result.seconds, arguments.tune.database);
}

}  // namespace

std::string RowRange::with(std::int64_t rows) const {
  std::string result = text;
  const std::string digits = std::to_string(rows);
  for (std::size_t at = result.find(mark); at != std::string::npos;
       at = result.find(mark, at + digits.size())) {
    result.replace(at, mark.size(), digits);
  }
  return result;
}

TaskOfRows RowRange::task(const Target& target) const {
  return
      [range = *this, target](std::int64_t rows) { return named_task(range.with(rows), target); };
}

std::optional<RowRange> row_range(const std::string& workload) {
  std::optional<RowRange> found;
  for (std::size_t dots = workload.find(".."); dots != std::string::npos;
       dots = workload.find("..", dots + 2)) {
    std::size_t begin = dots, end = dots + 2;
    while (begin > 0 && is_digit(workload[begin - 1])) {
      --begin;
    }
    while (end < workload.size() && is_digit(workload[end])) {
      ++end;
    }
    if (begin == dots || end == dots + 2) {
      continue;
    }
    const std::string mark = workload.substr(begin, end - begin);
    if (found && found->mark != mark) {
      throw Error("a workload has one range of rows, got " + in_quotes(found->mark) + " and " +
                  in_quotes(mark));
    }
    found = RowRange{workload, mark, number(workload.substr(begin, dots - begin)),
                     number(workload.substr(dots + 2, end - dots - 2))};
  }
  return found;
}

int tune_row_range(const RangeArguments& arguments, const RowRange& range) {
  RangeOptions options;
  options.tune = arguments.tune;
  const Target target = parse_runnable_target(arguments.common.target);
  warn_of_threads(target, options.tune.num_threads);
  watch_interrupts();
  options.tune.is_cancelled = is_interrupted;
  options.on_member = [&](const RangeProgress& progress) {
    work_has_begun();
    if (!arguments.is_quiet) {
      fmt::print(stderr, "[{:6.1f} s] {} rows: {}; {} kernels, {}\n", progress.seconds,
                 progress.rows, duration_text(progress.best_ns), progress.num_members,
                 !std::isfinite(progress.worst_ratio)
                     ? std::string("not all numbers yet")
                     : fmt::format("worst number of rows {:.2f} times what is expected",
                                   progress.worst_ratio));
    }
  };
  const RangeResult result = tune_range(range.task(target), range.first, range.last, options);
  if (arguments.common.is_json) {
    print_json(range_json(arguments, result));
  } else if (result.has_all()) {
    print_range(arguments, result);
  }
  if (result.has_all()) {
    if (result.is_cancelled) {
      warn(stopped_early(result.trials));
    }
    return exit_ok;
  }
  warn(result.is_cancelled ? "interrupted before every number of rows had a kernel"
                           : "there was no time for kernels of every number of rows");
  return result.is_cancelled ? exit_of_interrupt() : exit_failed;
}

std::vector<ExportedFile> range_files(const WorkloadOptions& common, const RowRange& range,
                                      const std::string& name, bool is_portable) {
  const Target target = parse_target(common.target);
  const TaskOfRows task = range.task(target);
  const RangeResult result =
      recorded_range(task, range.first, range.last, load_journal(common, "; tune the range first"),
                     common.num_threads);
  if (!result.has_all()) {
    throw Error("the journal has no kernels that make up every number of rows of " +
                in_quotes(range.text) + "; tune the range first");
  }
  const KernelSource family = result.source(name, is_portable);
  std::vector<ExportedFile> files = {{name + ".cpp", family.source},
                                     {name + ".hpp", family.header}};
  // The check asks for the number of rows with most parts.
  const std::int64_t rows = result.plan.rows_with_most_parts();
  const TuneTask checked = task(rows);
  KernelSource one;
  one.function_name = name + "_" + std::to_string(rows) + "_checked";
  std::string parameters, arguments;
  for (std::size_t i = 0; i < family.arguments.size(); ++i) {
    SourceArgument argument = family.arguments[i];
    if (result.row_elements[i] > 0) {
      argument.num_elements = rows * result.row_elements[i];
    }
    const std::string it = "a" + std::to_string(i);
    parameters += std::string(i == 0 ? "" : ", ") + (argument.is_written ? "" : "const ") +
                  std::string(c_storage_type(argument.dtype)) + "* " + it;
    arguments += ", " + it;
    one.arguments.push_back(std::move(argument));
  }
  files.push_back({one.function_name + ".hpp",
                   "#pragma once\n\n#include \"" + name + ".hpp\"\n\n/// " + std::to_string(rows) +
                       " rows.\ninline void " + one.function_name + "(" + parameters + ") {\n  " +
                       name + "(" + std::to_string(rows) + arguments + ");\n}\n"});
  files.push_back({one.function_name + "_check.cpp",
                   check_program(make_measure_task(*checked.dag, 1, 1), one, std::nullopt)});
  const KernelSource plain =
      reference_source(checked.dag, target, one.function_name + "_reference");
  files.push_back({plain.function_name + ".cpp", plain.source});
  files.push_back({plain.function_name + ".hpp", plain.header});
  return files;
}

}  // namespace tensorsmith::cli
