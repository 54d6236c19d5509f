// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
#include "table.hpp"

#include <algorithm>
#include <cstdio>

#include "bench/support/marked_page.hpp"

namespace tensorsmith::bench {
namespace {

/// "-" for null.
std::string number(const Json& value, double factor, int digits) {
  if (!value.is_number()) {
    return "-";
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value.get<double>() * factor);
  return text;
}

/// One digit, three below 1.
std::string time(const Json& value, double factor) {
  const double shown = value.is_number() ? value.get<double>() * factor : 0;
  return number(value, factor, shown > 0 && shown < 1 ? 3 : 1);
}

/// `ns`: of the winner.
std::string half_row(const Json& run, const Json& ns) {
  return " " + time(ns, 1e-3) + (run["verified"].get<bool>() ? "" : " (**?**)") + " | " +
         time(run["seconds"], 1) + " | " + number(run["trials_per_second"], 1, 1) + " | " +
         time(run["seconds_to_the_others_best"], 1) + " |";
}

/// Whether the winners took turns; reports before that have the medians of two final rankings.
bool is_race(const Json& entry) { return entry.contains("race") && !entry["race"].is_null(); }

std::string table(const std::string& path) {
  const Json report = Json::parse(read_text(path));
  const Json& machine = report["machine"];
  const bool is_raced = std::any_of(report["cases"].begin(), report["cases"].end(), is_race);
  std::string text =
      "\n## `" + path.substr(path.rfind('/') + 1) + "`\n\n" + machine["cpu"].get<std::string>() +
      ", " + std::to_string(report["threads"].get<int>()) + " thread(s), " +
      std::to_string(report["trials"].get<std::int64_t>()) + " trials, seed " +
      std::to_string(report["seed"].get<std::uint64_t>()) +
      ", policy of the space ansor: " + report["policies"]["ansor"].get<std::string>() +
      ". Geometric mean of the speed-ups: " + number(report["geomean_speedup"], 1, 2) + "." +
      (is_raced ? "" : " Kernels were timed by the final ranking of their own search.") +
      "\n\n| workload | ansor: best, us | s | trials/s | s to native's best | native: best, us | "
      "s "
      "| trials/s | s to ansor's best | speed-up | recorded: s (best, us) |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Json& entry : report["cases"]) {
    text += table_row(entry);
  }
  return text;
}

}  // namespace

std::string table_row(const Json& entry) {
  std::string recorded;
  if (entry.contains("recorded")) {
    recorded = number(entry["recorded"]["seconds"], 1, 0) + " (" +
               number(entry["recorded"]["best_ns"], 1e-3, 0) + ")";
  }
  const bool is_raced = is_race(entry);
  const Json &ansor = entry["ansor"], &native = entry["native"];
  std::string speedup = number(entry["speedup"], 1, 2);
  if (is_raced) {
    speedup += " (" + number(entry["race"]["ratio_p10"], 1, 2) + " .. " +
               number(entry["race"]["ratio_p90"], 1, 2) + ")";
  }
  return "| `" + entry["workload"].get<std::string>() + "` |" +
         half_row(ansor, is_raced ? entry["race"]["ansor_ns"] : ansor["best_ns"]) +
         half_row(native, is_raced ? entry["race"]["native_ns"] : native["best_ns"]) + " " +
         speedup + " | " + recorded + " |\n";
}

int write_page(const std::string& page, std::vector<std::string> reports, bool checks) {
  std::sort(reports.begin(), reports.end());
  std::string text;
  for (const std::string& report : reports) {
    text += table(report);
  }
  return write_marked_page(page, "bench_versus", text, checks);
}

}  // namespace tensorsmith::bench
