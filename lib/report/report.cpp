// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/report/report.hpp"

#include <algorithm>
#include <array>

#include "report/curve_chart.hpp"
#include "report/html_text.hpp"
#include "report/machine_section.hpp"

namespace tensorsmith {
namespace {

constexpr std::size_t num_fastest_shown = 10;
constexpr std::size_t longest_message = 400;

const char* meaning_of(MeasureStatus status) {
  switch (status) {
  case MeasureStatus::ok:
    return "ran, and its result was right";
  case MeasureStatus::instantiation_error:
    return "the schedule could not be turned into loops";
  case MeasureStatus::compile_error:
    return "the loops could not be turned into machine code";
  case MeasureStatus::build_timeout:
    return "turning it into machine code took too long";
  case MeasureStatus::load_error:
    return "the machine code could not be loaded";
  case MeasureStatus::run_timeout:
    return "stopped: it ran much longer than the best so far";
  case MeasureStatus::crashed:
    return "ended with a signal";
  case MeasureStatus::out_of_bounds:
    return "wrote or read outside of its buffers";
  case MeasureStatus::wrong_result:
    return "its result was wrong";
  case MeasureStatus::nan_result:
    return "its result held NaN where there should be none";
  case MeasureStatus::device_error:
    return "broke the device's context, e.g. by an illegal address; the worker was replaced";
  case MeasureStatus::out_of_memory:
    return "asked for more memory than the device has";
  case MeasureStatus::worker_lost:
    return "the measuring process was lost; says nothing about the candidate";
  case MeasureStatus::cancelled:
    return "not measured";
  case MeasureStatus::unknown_error:
    break;
  }
  return "failed for an unknown reason";
}

std::string gflops_text(const ReportSection& section, const Record& record) {
  return section.flop > 0 ? number_text(section.flop / record.min_ns, 1) : "-";
}

std::string headline(const ReportSection& section) {
  const Record& best = section.best;
  std::string html = "<div class=\"facts\">\n";
  if (best.is_ok()) {
    const double ns = section.is_ranked ? best.median_ns : best.min_ns;
    html += fact(time_text(ns),
                 section.is_ranked ? "winner of the final ranking, median" : "fastest trial");
    if (section.is_ranked && best.high_ns > 0) {
      html += fact(time_text(best.low_ns) + " .. " + time_text(best.high_ns), "95 % interval");
    }
    if (section.flop > 0) {
      html += fact(number_text(section.flop / ns, 1), "GFLOP/s");
    }
    html += fact(best.is_verified ? "verified" : "not verified", "its result");
  }
  const auto num_ok = std::count_if(section.records.begin(), section.records.end(),
                                    [](const Record& record) { return record.is_ok(); });
  html += fact(std::to_string(section.records.size()), "trials");
  html += fact(std::to_string(section.records.size() - static_cast<std::size_t>(num_ok)), "failed");
  return html + "</div>\n";
}

std::string curve(const ReportSection& section) {
  const std::vector<std::vector<Record>> runs = runs_of(section.records);
  const std::string chart = curve_chart(runs, section.flop);
  if (chart.empty()) {
    return paragraph("No trial succeeded, so there is no curve.", "bad");
  }
  const std::string legend =
      runs.size() == 1
          ? "Line: the best so far. Dots: single trials."
          : "Line and dots: the last of " + std::to_string(runs.size()) +
                " runs, its best so far and its single trials. Dashed: the runs before it.";
  return "<h3>Best so far</h3>\n" + chart + paragraph(legend);
}

std::string outcomes(const ReportSection& section) {
  struct Outcome {
    std::size_t count = 0;
    std::string message;
  };
  std::array<Outcome, num_measure_statuses> outcomes;
  for (const Record& record : section.records) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(record.status)];
    if (outcome.count++ == 0) {
      outcome.message = record.message.substr(0, longest_message);
    }
  }
  std::string rows = table_head({{"outcome"},
                                 {"trials", CellKind::number},
                                 {"share", CellKind::number},
                                 {"meaning"},
                                 {"first message"}});
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    if (outcomes[i].count > 0) {
      const auto status = static_cast<MeasureStatus>(i);
      const double share =
          static_cast<double>(outcomes[i].count) / static_cast<double>(section.records.size());
      rows += table_row({{std::string(name_of(status))},
                         {std::to_string(outcomes[i].count), CellKind::number},
                         {number_text(100 * share, 1) + " %", CellKind::number},
                         {meaning_of(status)},
                         {outcomes[i].message}});
    }
  }
  return "<h3>Trials by outcome</h3>\n" + table(rows);
}

std::string fastest_trials(const ReportSection& section) {
  std::vector<const Record*> best;
  for (const Record& record : section.records) {
    if (record.is_ok()) {
      best.push_back(&record);
    }
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Record* a, const Record* b) { return a->min_ns < b->min_ns; });
  best.resize(std::min(best.size(), num_fastest_shown));
  if (best.empty()) {
    return {};
  }
  std::string rows = table_head({{"trial", CellKind::number},
                                 {"after", CellKind::number},
                                 {"fastest run", CellKind::number},
                                 {"median", CellKind::number},
                                 {"GFLOP/s", CellKind::number},
                                 {"result"},
                                 {"search"}});
  for (const Record* record : best) {
    rows += table_row(
        {{std::to_string(record->trial), CellKind::number},
         {number_text(record->seconds, 1) + " s", CellKind::number},
         {time_text(record->min_ns), CellKind::number},
         {time_text(record->median_ns), CellKind::number},
         {gflops_text(section, *record), CellKind::number},
         {record->is_verified ? "verified" : "not verified"},
         {record->policy + ", space " + record->space + ", seed " + std::to_string(record->seed)}});
  }
  return "<h3>Fastest trials</h3>\n" + table(rows);
}

std::string race_html(const ReportRace& race) {
  const std::string share =
      race.peak_fraction > 0
          ? ", " + number_text(100 * race.peak_fraction, 0) + " % of the measured peak"
          : "";
  std::string html =
      paragraph("Ours: " + number_text(race.gflops, 1) + " GFLOP/s" + share + ", class " +
                race.packing_class + ", " + (race.is_verified ? "verified" : "NOT VERIFIED") +
                ", " + plural(static_cast<std::size_t>(std::max(race.pairs, 0)), "round") +
                " in turns with each library.");
  if (!race.is_stable) {
    html += paragraph(
        "The machine's peak moved by more than 3 % meanwhile: do not quote this race.", "bad");
  }
  std::string rows = table_head({{"library"},
                                 {"GFLOP/s", CellKind::number},
                                 {"its time / ours", CellKind::number},
                                 {"10th .. 90th percentile", CellKind::number},
                                 {"what ran"}});
  for (const ReportPeer& peer : race.peers) {
    const char* kind = peer.ratio >= 1 ? "good" : "bad";
    rows +=
        table_row({{peer.name},
                   {number_text(peer.gflops, 1), CellKind::number},
                   {"<b class=\"" + std::string(kind) + "\">" + number_text(peer.ratio, 2) + "</b>",
                    CellKind::number_markup},
                   {number_text(peer.ratio_p10, 2) + " .. " + number_text(peer.ratio_p90, 2),
                    CellKind::number},
                   {peer.impl}});
  }
  for (const auto& [name, reason] : race.left_out) {
    rows += table_row({{name},
                       {"-", CellKind::number},
                       {"-", CellKind::number},
                       {"-", CellKind::number},
                       {"left out: " + reason}});
  }
  return html + table(rows);
}

std::string comparison(const ReportSection& section) {
  if (section.races.empty()) {
    return {};
  }
  std::string html = "<h3>Beside libraries</h3>\n";
  for (const ReportRace& race : section.races) {
    html += race_html(race);
  }
  return html + paragraph("Above 1 our kernel is faster. The race is a measurement of its own, so "
                          "its times differ from those of the trials.");
}

std::string best_schedule(const ReportSection& section) {
  std::string html;
  if (!section.problem.empty()) {
    html += paragraph(section.problem);
  }
  if (!section.schedule.empty()) {
    html += details("schedule: stages and loops as the search sees them", section.schedule, true);
  }
  if (!section.loops.empty()) {
    html += details("loops: what is compiled", section.loops, false);
  }
  if (!section.steps.empty()) {
    html += details("steps: what the journal keeps", section.steps, false);
  }
  return html.empty() ? html : "<h3>Best schedule</h3>\n" + html;
}

std::string section_html(const ReportSection& section) {
  std::string html = "<h2>" + escape_html(section.workload) + "</h2>\n";
  const std::string cpu = section.records.empty() ? "" : section.records.back().cpu;
  html += paragraph("target " + section.target + ", " +
                    plural(static_cast<std::size_t>(std::max(section.num_threads, 0)), "thread") +
                    (cpu.empty() ? "" : ", measured on " + cpu));
  return html + headline(section) + comparison(section) + curve(section) + outcomes(section) +
         fastest_trials(section) + best_schedule(section);
}

}  // namespace

std::vector<std::vector<Record>> runs_of(const std::vector<Record>& records) {
  std::vector<std::vector<Record>> runs;
  for (const Record& record : records) {
    if (runs.empty() || record.trial <= runs.back().back().trial) {
      runs.emplace_back();
    }
    runs.back().push_back(record);
  }
  return runs;
}

std::string html_report(const Report& report) {
  std::string html = page_begin("tensorsmith report");
  html += "<p class=\"soft\">" + plural(report.sections.size(), "workload") + " from <code>" +
          escape_html(report.journal) + "</code></p>\n";
  for (const std::string& note : report.notes) {
    html += paragraph(note);
  }
  for (const ReportSection& section : report.sections) {
    html += section_html(section);
  }
  return html + machines_html(report.machines) + page_end();
}

}  // namespace tensorsmith
