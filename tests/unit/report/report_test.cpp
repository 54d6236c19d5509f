// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/report/report.hpp"

#include "report/curve_chart.hpp"
#include "report/html_text.hpp"
#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

Record trial(std::int64_t number, double seconds, double ns,
             MeasureStatus status = MeasureStatus::ok, const std::string& message = "") {
  Record record;
  record.trial = number;
  record.seconds = seconds;
  record.status = status;
  record.min_ns = ns;
  record.median_ns = ns;
  record.is_verified = status == MeasureStatus::ok;
  record.message = message;
  record.cpu = "Abacus <3>";
  record.policy = "evolution";
  record.space = "ansor";
  return record;
}

Report small_report() {
  ReportSection section;
  section.workload = "gemm:10x10x10:f32";
  section.target = "x86-64-v3";
  section.flop = 2000;
  section.records = {
      trial(0, 0.5, 400), trial(1, 1.0, 0, MeasureStatus::crashed, "signal <SIGSEGV> & more"),
      trial(2, 1.5, 200), trial(3, 2.0, 800), trial(4, 2.5, 0, MeasureStatus::crashed, "another")};
  section.best = section.records[2];
  section.schedule = "Placeholder: A, B\nfor i (0,10)";
  section.loops = "for i in 10: if i < 3";
  section.steps = "[[\"SP\", 2]]";
  Report report;
  report.journal = "a&b.jsonl";
  report.sections = {section};
  return report;
}

bool has(const std::string& html, const std::string& text) {
  return html.find(text) != std::string::npos;
}

std::size_t count(const std::string& html, const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = html.find(text); at != std::string::npos; at = html.find(text, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("text in a page means itself", "[report]") {
  CHECK(escape_html("a<b && \"c\" > 'd'") == "a&lt;b &amp;&amp; &quot;c&quot; &gt; &#39;d&#39;");
  CHECK(escape_html("a\nb\tc\x01"
                    "d\x7f") == "a\nb\tc d ");
  CHECK(table_row({{"<i>"}, {"1", CellKind::number}, {"<b>x</b>", CellKind::number_markup}}) ==
        "<tr><td>&lt;i&gt;</td><td class=\"n\">1</td><td class=\"n\"><b>x</b></td></tr>\n");
  CHECK(number_text(1.25, 1) == "1.2");
  CHECK(number_text(1.0 / 0.0, 1) == "-");
  CHECK(time_text(512) == "512 ns");
  CHECK(time_text(1234567) == "1.235 ms");
}

TEST_CASE("axis ticks are round and reach the largest value", "[report]") {
  CHECK(axis_ticks(10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(axis_ticks(231, 5) == std::vector<double>{0, 50, 100, 150, 200, 250});
  CHECK(axis_ticks(0, 5) == std::vector<double>{0});
  for (const double most : {0.003, 0.7, 1.0, 19.9, 271.3, 1e6}) {
    INFO(most);
    const std::vector<double> ticks = axis_ticks(most, 5);
    CHECK(ticks.back() >= most * (1 - 1e-9));
    CHECK(ticks.size() >= 3);
    CHECK(ticks.size() <= 7);
  }
}

TEST_CASE("runs begin where trials are counted from the start again", "[report]") {
  const std::vector<Record> records{trial(0, 0, 1), trial(1, 1, 1), trial(0, 0, 1), trial(2, 2, 1),
                                    trial(2, 0, 1)};
  const auto runs = runs_of(records);
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].size() == 2);
  CHECK(runs[1].size() == 2);
  CHECK(runs[2].size() == 1);
  CHECK(runs_of({}).empty());
}

TEST_CASE("the curve climbs in steps and holds one dot per successful trial", "[report]") {
  const std::vector<Record> run = small_report().sections[0].records;
  const std::string svg = curve_chart({run}, 2000);
  CHECK(count(svg, "<circle") == 3);
  CHECK(has(svg, "<title>trial 2, 1.5 s: 200 ns, 10.0 GFLOP/s</title>"));
  // 5 GFLOP/s after 0.5 s, 10 after 1.5 s, until the end at 2.5 s; 0..10 and 0..2.5 fill 244 x 680.
  CHECK(has(svg, "d=\"M200.0 136.0H472.0V14.0H744.0\""));
  CHECK(count(svg, "class=\"earlier\"") == 0);
  CHECK(count(curve_chart({run, run}, 2000), "class=\"earlier\"") == 1);
  CHECK(has(curve_chart({run}, 0), "calls per second"));
  CHECK(curve_chart({{trial(0, 1, 0, MeasureStatus::crashed)}}, 2000).empty());
  CHECK(curve_chart({}, 2000).empty());
}

TEST_CASE("a page holds what a run left behind", "[report]") {
  const std::string html = html_report(small_report());
  CHECK(has(html, "<h2>gemm:10x10x10:f32</h2>"));
  CHECK(has(html, "a&amp;b.jsonl"));
  CHECK(has(html, "Abacus &lt;3&gt;"));
  CHECK(has(html, "<b>200 ns</b>"));
  CHECK(has(html, "<b>10.0</b>"));
  CHECK(has(html, "<td>crashed</td><td class=\"n\">2</td><td class=\"n\">40.0 %</td>"));
  CHECK(has(html, "signal &lt;SIGSEGV&gt; &amp; more"));
  CHECK_FALSE(has(html, "another"));
  CHECK(has(html, "for i in 10: if i &lt; 3"));
  CHECK(has(html, "[[&quot;SP&quot;, 2]]"));
  CHECK_FALSE(has(html, "Beside libraries"));
  // The fastest first.
  CHECK(html.find("<td class=\"n\">2</td><td class=\"n\">1.5 s</td>") <
        html.find("<td class=\"n\">0</td><td class=\"n\">0.5 s</td>"));
}

TEST_CASE("a page says what was believed of its machines", "[report]") {
  CHECK_FALSE(has(html_report(small_report()), "<h2>Machine</h2>"));
  Report report = small_report();
  report.machines = {
      {"Abacus <3>", "00ff", {{"l1_ways", 8, "CPUID"}, {"hidden", 0.725, "<guess>"}}},
      {"Abacus 4", "11ff", {}}};
  const std::string html = html_report(report);
  CHECK(count(html, "<h2>Machine</h2>") == 1);
  CHECK(has(html, "Abacus &lt;3&gt;, fingerprint 00ff</p>"));
  CHECK(has(html, "<td>l1_ways</td><td class=\"n\">8</td><td>CPUID</td>"));
  CHECK(has(html, "<td>hidden</td><td class=\"n\">0.72</td><td>&lt;guess&gt;</td>"));
  CHECK(has(html, "Abacus 4, fingerprint 11ff: not the machine"));
}

TEST_CASE("a page needs nothing from anywhere else", "[report]") {
  const std::string html = html_report(small_report());
  for (const char* outside : {"<script", "<link", "<img", "<iframe", "src=", "href=", "url(",
                              "@import", "http:", "https:", "onload"}) {
    INFO(outside);
    CHECK_FALSE(has(html, outside));
  }
}

TEST_CASE("a page compares with libraries", "[report]") {
  Report report = small_report();
  ReportRace race;
  race.gflops = 9.5;
  race.peak_fraction = 0.91;
  race.packing_class = "a";
  race.is_verified = true;
  race.pairs = 30;
  race.peers = {{"fast<lib>", "loops", 12, 0.8, 0.7, 0.9}, {"slowlib", "", 5, 1.9, 1.8, 2.0}};
  race.left_out = {{"gone", "not installed"}};
  report.sections[0].races = {race};
  std::string html = html_report(report);
  CHECK(has(html, "9.5 GFLOP/s, 91 % of the measured peak, class a, verified, 30 rounds"));
  CHECK(has(html, "<td>fast&lt;lib&gt;</td>"));
  CHECK(has(html, "<b class=\"bad\">0.80</b>"));
  CHECK(has(html, "<b class=\"good\">1.90</b>"));
  CHECK(has(html, "left out: not installed"));
  CHECK_FALSE(has(html, "do not quote"));
  report.sections[0].races[0].is_stable = false;
  report.sections[0].races[0].is_verified = false;
  html = html_report(report);
  CHECK(has(html, "do not quote"));
  CHECK(has(html, "NOT VERIFIED"));
}

TEST_CASE("a journal without success still makes a page", "[report]") {
  Report report = small_report();
  report.sections[0].records = {trial(0, 1, 0, MeasureStatus::wrong_result, "off by one")};
  report.sections[0].best = {};
  report.sections[0].schedule.clear();
  report.sections[0].loops.clear();
  report.sections[0].steps.clear();
  const std::string html = html_report(report);
  CHECK(has(html, "No trial succeeded"));
  CHECK(has(html, "off by one"));
  CHECK_FALSE(has(html, "Best schedule"));
  CHECK_FALSE(has(html, "fastest trial</span>"));
}

TEST_CASE("the winner of a final ranking stands before the fastest trial", "[report]") {
  Report report = small_report();
  CHECK(has(html_report(report), "<b>200 ns</b><span>fastest trial</span>"));
  Record& best = report.sections[0].best;
  report.sections[0].is_ranked = true;
  best.median_ns = 250;
  best.low_ns = 240;
  best.high_ns = 260;
  const std::string html = html_report(report);
  CHECK(has(html, "<b>250 ns</b><span>winner of the final ranking, median</span>"));
  CHECK(has(html, "<b>240 ns .. 260 ns</b><span>95 % interval</span>"));
  CHECK(has(html, "<b>8.0</b><span>GFLOP/s</span>"));
}
