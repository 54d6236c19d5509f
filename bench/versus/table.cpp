// requires: llvm json cli11
#include "table.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tensorsmith::bench {
namespace {

constexpr const char* begin_mark = "<!-- bench_versus: begin -->\n";
constexpr const char* end_mark = "<!-- bench_versus: end -->\n";

std::string read(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot read \"" + path + "\"");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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
  const Json report = Json::parse(read(path));
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
  const std::string old = read(page);
  const std::size_t begin = old.find(begin_mark), end = old.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error("\"" + page + "\" has no marks \"" + begin_mark + "\" and \"" +
                             end_mark + "\"");
  }
  std::sort(reports.begin(), reports.end());
  std::string text = old.substr(0, begin) + begin_mark;
  for (const std::string& report : reports) {
    text += table(report);
  }
  text += old.substr(end);
  if (!checks) {
    std::ofstream(page) << text;
  } else if (text != old) {
    std::printf("%s is not what the reports say; run bench_versus --page %s", page.c_str(),
                page.c_str());
    for (const std::string& report : reports) {
      std::printf(" %s", report.c_str());
    }
    std::printf("\n");
    return 1;
  }
  return 0;
}

}  // namespace tensorsmith::bench
