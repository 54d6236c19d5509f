// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/report/network_report.hpp"

#include <algorithm>

#include "report/curve_chart.hpp"
#include "report/graph_chart.hpp"
#include "report/html_text.hpp"
#include "report/machine_section.hpp"

namespace tensorsmith {
namespace {

double sum_of_kernels(const NetworkReport& report) {
  double sum = 0;
  for (const NetworkReportKernel& kernel : report.kernels) {
    sum += kernel.median_ns;
  }
  return sum;
}

double flop_of(const NetworkReport& report) {
  double flop = 0;
  for (const NetworkReportTask& task : report.tasks) {
    flop += task.weight * task.flop;
  }
  return flop;
}

std::string bytes_text(std::int64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  return amount < 1024      ? number_text(amount, 0) + " B"
         : amount < 1048576 ? number_text(amount / 1024, 1) + " KiB"
                            : number_text(amount / 1048576, 1) + " MiB";
}

std::string listed(const std::string& what, const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? what + ": " : "; ") + item;
  }
  return text.empty() ? std::string() : paragraph(text);
}

std::string head(const NetworkReport& report) {
  const double flop = flop_of(report);
  std::string html = "<h2>" + escape_html(report.network) + "</h2>\n";
  html += paragraph("target " + report.target + ", " +
                    plural(static_cast<std::size_t>(std::max(report.num_threads, 0)), "thread") +
                    (report.cpu.empty() ? "" : ", measured on " + report.cpu) +
                    (report.journal.empty() ? ", no journal" : ", kernels of " + report.journal));
  html += listed("Inputs", report.inputs) + listed("Outputs", report.outputs);
  html += "<div class=\"facts\">\n";
  html += fact(time_text(report.median_ns), "a call, median");
  html +=
      fact(time_text(report.p10_ns) + " .. " + time_text(report.p90_ns), "10th .. 90th percentile");
  if (flop > 0 && report.median_ns > 0) {
    html += fact(number_text(flop / report.median_ns, 1), "GFLOP/s");
  }
  html += fact(std::to_string(report.kernels.size()), "kernels");
  const auto recorded =
      std::count_if(report.tasks.begin(), report.tasks.end(),
                    [](const NetworkReportTask& task) { return task.is_recorded; });
  html += fact(std::to_string(recorded) + " of " + std::to_string(report.tasks.size()),
               "tasks from the journal");
  html += fact(bytes_text(report.constant_bytes), "constants");
  html += fact(bytes_text(report.arena_bytes), "between kernels");
  return html + "</div>\n";
}

std::string curve(const NetworkReport& report) {
  // In a unit in which the first point has a few digits.
  const double first = report.curve.empty() ? 0 : report.curve.front().second;
  const char* const unit = first < 1e4 ? "ns" : first < 1e7 ? "us" : "ms";
  const double size = first < 1e4 ? 1 : first < 1e7 ? 1e3 : 1e6;
  NetworkCurve scaled;
  for (const auto& [seconds, ns] : report.curve) {
    scaled.emplace_back(seconds, ns / size);
  }
  const std::string chart = step_chart(scaled, "seconds of tuning, compilation included",
                                       std::string(unit) + ", sum of all kernels");
  if (chart.empty()) {
    return paragraph("The journal has no trial of this network, so there is no curve.");
  }
  return "<h3>While it was tuned</h3>\n" + chart +
         paragraph("The sum of the best times so far, each as often as its task is called. A task "
                   "counts with its first time until it has one; tasks without any do not count.");
}

std::string kernels(const NetworkReport& report) {
  std::string html = "<h3>Kernels</h3>\n" + graph_chart(report);
  if (report.kernels.size() > most_drawn_kernels) {
    html += paragraph("The first " + std::to_string(most_drawn_kernels) + " of " +
                      std::to_string(report.kernels.size()) + " are drawn.");
  }
  const double sum = sum_of_kernels(report);
  const std::string share =
      report.median_ns > 0 ? ", " + number_text(100 * sum / report.median_ns, 0) + " % of a call"
                           : "";
  return html +
         paragraph("From top to bottom in the order of the calls; arcs lead from a result to "
                   "who reads it. All kernels together: " +
                   time_text(sum) + share + ".");
}

std::string tasks(const NetworkReport& report) {
  struct Row {
    std::size_t task = 0;
    double ns = 0;  // of all its kernels
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    rows.push_back({i, 0});
  }
  for (const NetworkReportKernel& kernel : report.kernels) {
    if (kernel.task < rows.size()) {
      rows[kernel.task].ns += kernel.median_ns;
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.ns > b.ns; });
  const double sum = sum_of_kernels(report);
  std::string html = table_head({{"task"},
                                 {"calls", CellKind::number},
                                 {"share", CellKind::number},
                                 {"a call", CellKind::number},
                                 {"GFLOP/s", CellKind::number},
                                 {"best trial", CellKind::number},
                                 {"trials", CellKind::number},
                                 {"failed", CellKind::number}});
  for (const Row& row : rows) {
    const NetworkReportTask& task = report.tasks[row.task];
    const double each = task.weight > 0 ? row.ns / task.weight : 0;
    html += table_row(
        {{task.operators},
         {number_text(task.weight, 0), CellKind::number},
         {sum > 0 ? number_text(100 * row.ns / sum, 1) + " %" : "-", CellKind::number},
         {time_text(each), CellKind::number},
         {task.flop > 0 && each > 0 ? number_text(task.flop / each, 1) : "-", CellKind::number},
         {task.best_ns > 0 ? time_text(task.best_ns) : "none", CellKind::number},
         {std::to_string(task.trials), CellKind::number},
         {std::to_string(task.failed), CellKind::number}});
  }
  html = "<h3>Tasks</h3>\n" + table(html);
  std::string texts;
  for (const Row& row : rows) {
    const NetworkReportTask& task = report.tasks[row.task];
    texts += "# " + task.operators + "\n" + task.text + "\n";
  }
  return html +
         details("the tasks in index notation, as tensorsmith tune takes them", texts, false);
}

}  // namespace

std::string html_report(const NetworkReport& report) {
  return page_begin("tensorsmith network report") + head(report) + curve(report) + kernels(report) +
         tasks(report) + machines_html(report.machines) + page_end();
}

}  // namespace tensorsmith
