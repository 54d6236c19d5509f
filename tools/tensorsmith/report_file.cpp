#include "report_file.hpp"

#include <algorithm>
#include <utility>

#include "report/report.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/support/file.hpp"
#include "tune/replay_steps.hpp"

namespace tensorsmith::cli {
namespace {

constexpr std::int64_t most_comparison_bytes = std::int64_t{256} << 20;

/// "gemm:8x8x8" and "gemm:8x8x8:f32" are one workload; text that is none stays as it is.
std::string canonical(const std::string& workload) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  return parsed ? parsed->name : workload;
}

std::vector<ReportSection> sections_of(const std::vector<Record>& records,
                                       const std::vector<std::string>& workloads) {
  std::vector<std::string> wanted;
  for (const std::string& workload : workloads) {
    wanted.push_back(canonical(workload));
  }
  std::vector<ReportSection> sections;
  for (const Record& record : records) {
    const std::string workload = canonical(record.workload);
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), workload) == wanted.end()) {
      continue;
    }
    auto found = std::find_if(sections.begin(), sections.end(), [&](const ReportSection& section) {
      return section.workload == workload && section.target == record.target &&
             section.num_threads == record.num_threads;
    });
    if (found == sections.end()) {
      ReportSection section;
      section.workload = workload;
      section.target = record.target;
      section.num_threads = record.num_threads;
      found = sections.insert(sections.end(), std::move(section));
    }
    found->records.push_back(record);
  }
  return sections;
}

/// The last final ranking's winner, else the fastest trial; with schedule and loops, as far as they
/// can be made again.
void add_best(ReportSection& section, const JournalContents& contents) {
  if (std::optional<Record> found = best_record(contents, section.records.front().workload_key,
                                                section.target, section.num_threads)) {
    section.best = std::move(*found);
    section.is_ranked =
        std::any_of(contents.winners.begin(), contents.winners.end(),
                    [&](const Winner& winner) { return winner.record == section.best; });
  }
  const Result<ops::Workload, std::string> workload = ops::parse_workload(section.workload);
  section.flop = workload ? workload_flop(section.workload) : 0;
  if (!section.best.is_ok()) {
    return;
  }
  section.steps = steps_to_text(section.best.steps);
  if (!workload) {
    section.problem = "This computation was given by a program, not by a workload string, so only "
                      "the steps can be shown.";
    return;
  }
  try {
    const State state = replay_steps(workload->dag, section.best.steps);
    section.schedule = state_text(state);
    const Target target =
        section.target == host_target().name ? host_target() : parse_target(section.target);
    const Result<KernelPrograms, LowerError> program = lower_kernel(state, target);
    if (program) {
      section.loops = to_text(program->main);
      section.loops += program->prepack ? "\nonce, before:\n" + to_text(*program->prepack) : "";
    } else {
      section.problem = "The schedule cannot be lowered: " + explain(program.error());
    }
  } catch (const Error& error) {
    section.problem = error.what();
  }
}

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
      const std::string workload = canonical(entry.at("workload").get<std::string>());
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
  Report report;
  report.journal = request.journal;
  for (const SkippedLine& line : contents->skipped) {
    report.notes.push_back("Line " + std::to_string(line.number) +
                           " of the journal was skipped: " + line.reason);
  }
  report.sections = sections_of(contents->records, request.workloads);
  if (report.sections.empty()) {
    throw Error(in_quotes(request.journal) + " holds no trial " +
                (request.workloads.empty() ? "at all" : "of these workloads"));
  }
  for (ReportSection& section : report.sections) {
    add_best(section, *contents);
  }
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
