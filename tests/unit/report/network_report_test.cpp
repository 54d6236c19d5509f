// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/report/network_report.hpp"

#include <algorithm>
#include <map>

#include "report/graph_chart.hpp"
#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

namespace {

Record trial_of(const std::string& workload, double seconds, double ns) {
  Record record;
  record.workload = workload;
  record.target = "host";
  record.seconds = seconds;
  record.status = ns > 0 ? MeasureStatus::ok : MeasureStatus::compile_error;
  record.min_ns = ns;
  return record;
}

NetworkReport hostile_report() {
  NetworkReport report;
  const std::string hostile = "<script src='http://x'>&\"";
  report.network = report.journal = report.target = report.cpu = hostile;
  report.inputs = report.outputs = {hostile};
  report.median_ns = 2e6;
  report.kernels.push_back({hostile, hostile, hostile, 0, 1.5e6, 1e6, 2e6, {}});
  report.kernels.push_back({hostile, hostile, hostile, 0, 0.5e6, 1e6, 2e6, {0}});
  report.tasks.push_back({hostile, hostile, 2, 1e6, true, 1e5, 12345, 678});
  report.curve = {{0.5, 3e6}, {2, 1.5e6}};
  return report;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("the page of a network escapes whatever it shows and needs nothing outside of it") {
  const std::string page = html_report(hostile_report());
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("src='") == std::string::npos);
  CHECK(page.find("href=") == std::string::npos);
  CHECK(page.find("url(") == std::string::npos);
  CHECK(count_of(page, "&lt;script src=&#39;http://x&#39;&gt;&amp;&quot;") >= 10);
  CHECK(page.find("12345") != std::string::npos);
  CHECK(page.find("75.0 %") != std::string::npos);
  CHECK(page.find("100.0 %") != std::string::npos);  // of the only task
  CHECK(count_of(page, "<svg") == 2);
  CHECK(count_of(page, "<svg") == count_of(page, "</svg>"));
}

TEST_CASE("a network without journal, kernels or operations has a page") {
  NetworkReport report;
  report.network = "empty";
  const std::string page = html_report(report);
  CHECK(page.find("there is no curve") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
  CHECK(page.find("</html>") != std::string::npos);
}

TEST_CASE("of very many kernels the first are drawn, every one that is read with its arc") {
  NetworkReport report = hostile_report();
  report.kernels.resize(most_drawn_kernels + 100, report.kernels[1]);
  const std::string chart = graph_chart(report);
  CHECK(count_of(chart, "<circle") == most_drawn_kernels);
  CHECK(count_of(chart, "class=\"arc\"") == most_drawn_kernels - 1);
  CHECK(html_report(report).find("The first 400 of 500 are drawn") != std::string::npos);
}

TEST_CASE("the curve of a network is the sum of what its tasks had reached") {
  CounterRng rng(test::seed(), 0x6E72);
  for (int round = 0; round < 50; ++round) {
    std::vector<WeightedName> tasks;
    for (std::uint32_t i = 0; i <= rng.next_below(4); ++i) {
      tasks.push_back({"t" + std::to_string(i), 1.0 + rng.next_below(3)});
    }
    std::vector<Record> records;
    std::vector<double> when;
    double seconds = 0, before = 0;
    for (std::uint32_t i = 0; i < 40; ++i) {
      if (rng.next_below(8) == 0 && seconds > 1.2) {
        before += seconds;
        seconds = 0;
      }
      seconds += 0.1 + rng.next_double();
      // Some of another network, some failed.
      records.push_back(trial_of("t" + std::to_string(rng.next_below(6)), seconds,
                                 rng.next_below(5) == 0 ? 0 : 1.0 + rng.next_below(100)));
      when.push_back(before + seconds);
      if (rng.next_below(6) == 0) {
        records.back().num_threads = 2;
      }
    }
    const NetworkCurve curve = network_curve(records, tasks, "host", 1);
    // At every point: the least so far, or the first there will be.
    for (const auto& [at, sum] : curve) {
      double expected = 0;
      for (const WeightedName& task : tasks) {
        double first = 0, least = 0;
        for (std::size_t i = 0; i < records.size(); ++i) {
          const Record& record = records[i];
          if (record.workload != task.name || !record.is_ok() || record.num_threads != 1) {
            continue;
          }
          first = first > 0 ? first : record.min_ns;
          const bool is_past = when[i] <= at + 1e-9;
          least = is_past && (least <= 0 || record.min_ns < least) ? record.min_ns : least;
        }
        expected += task.weight * (least > 0 ? least : first);
      }
      CHECK(sum == Approx(expected));
    }
    for (std::size_t i = 1; i < curve.size(); ++i) {
      CHECK(curve[i].first >= curve[i - 1].first);
      CHECK(curve[i].second <= curve[i - 1].second);
    }
  }
  CHECK(network_curve({}, {}, "host", 1).empty());
}
