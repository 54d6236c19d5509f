// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/tune/journal_report.hpp"

#include <algorithm>
#include <utility>

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/tune/calibration.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/machine_facts.hpp"
#include "tensorsmith/tune/replay.hpp"

namespace tensorsmith {
namespace {

std::vector<ReportSection> sections_of(const std::vector<Record>& records,
                                       const std::vector<std::string>& workloads) {
  std::vector<std::string> wanted;
  for (const std::string& workload : workloads) {
    wanted.push_back(canonical_workload(workload));
  }
  std::vector<ReportSection> sections;
  for (const Record& record : records) {
    const std::string workload = canonical_workload(record.workload);
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
  section.flop = workload ? named_task(section.workload, Target()).flop : 0;
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
    const Result<Target, std::string> target = named_target(section.target);
    if (!target) {
      throw Error(target.error());
    }
    const Result<KernelPrograms, LowerError> program = lower_kernel(state, *target);
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

}  // namespace

std::string canonical_workload(const std::string& workload) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  return parsed ? parsed->name : workload;
}

void add_machines(std::span<const Record> records, std::vector<ReportMachine>& machines) {
  for (const Record& record : records) {
    const bool is_there =
        std::any_of(machines.begin(), machines.end(), [&](const ReportMachine& machine) {
          return machine.fingerprint == record.machine;
        });
    if (record.machine.empty() || is_there) {
      continue;
    }
    ReportMachine& machine = machines.emplace_back();
    machine.name = record.cpu;
    machine.fingerprint = record.machine;
    const Result<Target, std::string> target = named_target(record.target);
    if (target && machine_fingerprint(*target) == record.machine) {
      machine.facts = machine_facts(*target);
    }
  }
}

Report report_of(const JournalContents& contents, const std::string& journal,
                 const std::vector<std::string>& workloads) {
  Report report;
  report.journal = journal;
  for (const SkippedLine& line : contents.skipped) {
    report.notes.push_back("Line " + std::to_string(line.number) +
                           " of the journal was skipped: " + line.reason);
  }
  report.sections = sections_of(contents.records, workloads);
  if (report.sections.empty()) {
    throw Error(in_quotes(journal) + " holds no trial " +
                (workloads.empty() ? "at all" : "of these workloads"));
  }
  for (ReportSection& section : report.sections) {
    add_best(section, contents);
    add_machines(section.records, report.machines);
  }
  return report;
}

}  // namespace tensorsmith
