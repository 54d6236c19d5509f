// SPDX-License-Identifier: Apache-2.0
// tensorsmith report: the trials of a journal as one HTML page.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "command.hpp"
#include "report_file.hpp"
#include "row_range.hpp"

namespace tensorsmith::cli {
namespace {

struct ReportArguments {
  ReportRequest request;
  bool is_json = false;
};

int make_report(ReportArguments& arguments) {
  ReportRequest& request = arguments.request;
  if (request.journal.empty()) {
    if (request.workloads.size() != 1) {
      throw Error("report needs a journal (--db FILE), or one workload whose journal is in the "
                  "cache folder");
    }
    WorkloadOptions options;
    options.workload = request.workloads.front();
    request.journal = journal_path(options);
    std::error_code problem;
    if (!std::filesystem::exists(request.journal, problem) &&
        std::filesystem::exists(options.workload, problem)) {
      throw Error(in_quotes(options.workload) + " is a file and no workload; name a journal with "
                                                "--db FILE");
    }
  }
  std::vector<std::string> workloads;  // those of a range of rows are there by their own names
  for (const std::string& workload : request.workloads) {
    const std::optional<RowRange> range = row_range(workload);
    for (std::int64_t rows = 1; range && rows <= std::min(range->last, most_range_rows); ++rows) {
      workloads.push_back(range->with(rows));
    }
    if (!range) {
      workloads.push_back(workload);
    }
  }
  request.workloads = std::move(workloads);
  const Json sections = write_report(request);
  const std::string path = std::filesystem::absolute(request.output).lexically_normal().string();
  if (arguments.is_json) {
    Json json;
    json["report"] = path;
    json["journal"] = request.journal;
    json["workloads"] = sections;
    print_json(json);
  } else {
    fmt::print("report: {}\n", path);
  }
  return exit_ok;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ReportArguments>();
  arguments->request.output = "report.html";
  CLI::App* command = app.add_subcommand(
      "report", "Write the trials of a journal as one HTML page that needs no network.\n"
                "Example: tensorsmith report gemm:512x512x512:f32 --output report.html");
  command
      ->add_option("workloads", arguments->request.workloads,
                   "which workloads of the journal; default: all")
      ->delimiter('\0');
  command->add_option("--db", arguments->request.journal,
                      "journal of trials; default: the workload's file in the cache folder");
  command->add_option("--compare", arguments->request.comparison,
                      "what bench_kernels --json wrote: adds the ratios to libraries");
  command->add_option("--output", arguments->request.output, "file to write");
  command->add_flag("--json", arguments->is_json, "one JSON object on standard output");
  command->callback(
      [arguments, &action] { action = [arguments] { return make_report(*arguments); }; });
}

}  // namespace tensorsmith::cli
