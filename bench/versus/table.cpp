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
  const double shown = value.get<double>() * factor;
  const int more = shown > 0 && shown < 1 ? 2 : 0;  // of a hundredth of a microsecond as well
  std::snprintf(text, sizeof text, "%.*f", digits + more, shown);
  return text;
}

std::string half_row(const Json& run) {
  return " " + number(run["best_ns"], 1e-3, 1) + (run["verified"].get<bool>() ? "" : " (**?**)") +
         " | " + number(run["seconds"], 1, 1) + " | " + number(run["trials_per_second"], 1, 1) +
         " | " + number(run["seconds_to_the_others_best"], 1, 1) + " |";
}

std::string table(const std::string& path) {
  const Json report = Json::parse(read_text(path));
  const Json& machine = report["machine"];
  std::string text =
      "\n## `" + path.substr(path.rfind('/') + 1) + "`\n\n" + machine["cpu"].get<std::string>() +
      ", " + std::to_string(report["threads"].get<int>()) + " thread(s), " +
      std::to_string(report["trials"].get<std::int64_t>()) + " trials, seed " +
      std::to_string(report["seed"].get<std::uint64_t>()) +
      ", policy of the space ansor: " + report["policies"]["ansor"].get<std::string>() +
      ". Geometric mean of the speed-ups: " + number(report["geomean_speedup"], 1, 2) +
      ".\n\n| workload | ansor: best, us | s | trials/s | s to native's best | native: best, us | "
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
  return "| `" + entry["workload"].get<std::string>() + "` |" + half_row(entry["ansor"]) +
         half_row(entry["native"]) + " " + number(entry["speedup"], 1, 2) + " | " + recorded +
         " |\n";
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
