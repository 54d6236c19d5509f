// SPDX-License-Identifier: Apache-2.0
#include "report_file.hpp"

#include <algorithm>

#include "tensorsmith/support/file.hpp"
#include "tensorsmith/tune/journal_report.hpp"

namespace tensorsmith::cli {
namespace {

constexpr std::int64_t most_comparison_bytes = std::int64_t{256} << 20;

ReportRace race_of(const Json& entry) {
  ReportRace race;
  race.gflops = entry.at("ours_gflops").get<double>();
  race.peak_fraction = entry.value("peak_fraction", 0.0);
  race.packing_class = entry.value("class", std::string());
  race.is_verified = entry.at("verified").get<bool>();
  race.pairs = entry.value("pairs", 0);
  if (entry.contains("calibration")) {
    race.is_stable = entry["calibration"].value("stable", true);
  }
  for (const auto& [name, peer] : entry.at("peers").items()) {
    race.peers.push_back({name, peer.value("impl", std::string()), peer.at("gflops").get<double>(),
                          peer.at("ratio").get<double>(), peer.value("ratio_p10", 0.0),
                          peer.value("ratio_p90", 0.0)});
  }
  if (entry.contains("left_out")) {
    for (const auto& [name, reason] : entry["left_out"].items()) {
      race.left_out.emplace_back(name, reason.get<std::string>());
    }
  }
  return race;
}

/// Cases of other workloads, and those without a kernel, are left out.
void add_races(std::vector<ReportSection>& sections, const std::string& path) {
  const std::string text = read_input(path, most_comparison_bytes);
  try {
    const Json json = Json::parse(text);
    for (const Json& entry : json.at("cases")) {
      const std::string workload = canonical_workload(entry.at("workload").get<std::string>());
      for (ReportSection& section : sections) {
        if (section.workload == workload && section.num_threads == entry.at("threads").get<int>() &&
            entry.at("ours_gflops").is_number()) {
          section.races.push_back(race_of(entry));
        }
      }
    }
  } catch (const Json::exception&) {
    throw Error(in_quotes(path) + " is no report of bench_kernels --json");
  }
}

}  // namespace

void check_report(const ReportRequest& request) {
  std::vector<std::string> inputs = {request.journal};
  if (!request.comparison.empty()) {
    inputs.push_back(request.comparison);
  }
  refuse_input_as_output(request.output, inputs);
  if (const std::string problem = write_problem(request.output); !problem.empty()) {
    throw Error(problem);
  }
}

Json write_report(const ReportRequest& request) {
  check_report(request);
  const Result<JournalContents, RecordError> contents = read_journal(request.journal);
  if (!contents) {
    throw Error(contents.error().message);
  }
  Report report = report_of(*contents, request.journal, request.workloads);
  if (!request.comparison.empty()) {
    add_races(report.sections, request.comparison);
  }
  write_output(request.output, html_report(report));
  Json json = Json::array();
  for (const ReportSection& section : report.sections) {
    const Record& best = section.best;
    const double ns = section.is_ranked ? best.median_ns : best.min_ns;
    json.push_back({{"workload", section.workload},
                    {"target", section.target},
                    {"threads", section.num_threads},
                    {"trials", section.records.size()},
                    {"best_ns", best.is_ok() ? Json(ns) : Json(nullptr)}});
  }
  return json;
}

}  // namespace tensorsmith::cli
