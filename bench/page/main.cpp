// requires: json
// bench_page: the tables of docs/performance.md from files that bench_kernels wrote.
//
//   bench_page PAGE RESULT.json...            writes the part of PAGE between the two marks
//   bench_page --check PAGE RESULT.json...    exit code 1 if it would change
// What stands outside of the marks is written by hand.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* begin_mark = "<!-- bench_page: begin -->\n";
constexpr const char* end_mark = "<!-- bench_page: end -->\n";

std::string read(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot read \"" + path + "\"");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// The peer with the smallest ratio: who is fastest.
std::string best_peer(const Json& peers) {
  std::string best;
  for (const auto& [name, peer] : peers.items()) {
    if (best.empty() || peer["ratio"].get<double>() < peers[best]["ratio"].get<double>()) {
      best = name;
    }
  }
  return best;
}

std::string row(const Json& entry) {
  std::string text = "| `" + entry["workload"].get<std::string>() + "` | " +
                     entry["class"].get<std::string>() + " | ";
  if (!entry["ours_gflops"].is_number()) {
    return text + "no kernel | | | | |\n";
  }
  text += number(entry["ours_gflops"].get<double>(), 1) + " | " +
          number(100 * entry["peak_fraction"].get<double>(), 0) + " % | ";
  const std::string best = best_peer(entry["peers"]);
  if (best.empty()) {
    text += "none | | ";
  } else {
    const Json& peer = entry["peers"][best];
    text += best + ", `" + peer["impl"].get<std::string>() + "` | " +
            number(peer["ratio"].get<double>(), 2) + " (" +
            number(peer["ratio_p10"].get<double>(), 2) + " .. " +
            number(peer["ratio_p90"].get<double>(), 2) + ") | ";
  }
  const bool is_stable = entry["calibration"]["stable"].get<bool>();
  return text + (entry["verified"].get<bool>() ? "yes" : "**no**") +
         (is_stable ? "" : ", the peak moved") + " |\n";
}

/// "12.34 (1.02)", or nothing where the run did not measure it.
std::string with_note(const Json& values, const char* name, const char* note) {
  return values.contains(name) ? number(values[name].get<double>(), 2) + " (" +
                                     number(values[note].get<double>(), 2) + ")"
                               : "";
}

std::string tables(const std::string& path) {
  const Json report = Json::parse(read(path));
  const Json& machine = report["machine"];
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string text = "\n## `" + name + "`\n\n" + report.value("date", std::string("no date")) +
                     ", " + machine["cpu"].get<std::string>() + " (" +
                     machine["microarchitecture"].get<std::string>() + ", " +
                     machine["isa"].get<std::string>() + ", " +
                     std::to_string(machine["usable_cpus"].get<int>()) + " cores), " +
                     machine["compiler"].get<std::string>() + ". Calibrated peak " +
                     number(machine["roofline"]["peak_gflops"].get<double>(), 0) + " GFLOP/s.";
  for (const auto& [library, version] : machine["libraries"].items()) {
    text += " " + library + ": " + version.get<std::string>() + ".";
  }
  text +=
      "\n\n| suite | cases | geomean | least | all of the network, ms (ratio) | without a budget, "
      "share of the tuned speed (least) |\n|---|---|---|---|---|---|\n";
  for (const auto& [suite, values] : report["summary"].items()) {
    text += "| " + suite + " | " + std::to_string(values["cases"].get<int>()) + " | " +
            number(values["geomean"].get<double>(), 2) + " | " +
            number(values["min"].get<double>(), 2) + " | " +
            with_note(values, "network_ms", "network_ratio") + " | " +
            with_note(values, "instant_geomean", "instant_min") + " |\n";
  }
  std::string suite;
  for (const Json& entry : report["cases"]) {
    if (const auto own = entry["suite"].get<std::string>(); own != suite) {
      suite = own;
      text +=
          "\n### " + suite + ", " + std::to_string(entry["threads"].get<int>()) +
          " thread(s)\n\n| workload | class | GFLOP/s | of peak | best peer | their time / ours "
          "(p10 .. p90) | verified |\n|---|---|---|---|---|---|---|\n";
    }
    text += row(entry);
  }
  return text;
}

int run(bool checks, const std::string& page, const std::vector<std::string>& results) {
  const std::string old = read(page);
  const std::size_t begin = old.find(begin_mark), end = old.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error("\"" + page + "\" has no marks \"" + begin_mark + "\" and \"" +
                             end_mark + "\"");
  }
  std::string text = old.substr(0, begin) + begin_mark;
  for (const std::string& result : results) {
    text += tables(result);
  }
  text += old.substr(end);
  if (!checks) {
    std::ofstream(page) << text;
  } else if (text != old) {
    std::printf("%s is not what the results say; run bench_page %s", page.c_str(), page.c_str());
    for (const std::string& result : results) {
      std::printf(" %s", result.c_str());
    }
    std::printf("\n");
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool checks = argc > 1 && std::strcmp(argv[1], "--check") == 0;
  std::vector<std::string> files(argv + (checks ? 2 : 1), argv + argc);
  if (files.size() < 2 || files[0][0] == '-') {
    std::fprintf(stderr, "usage: bench_page [--check] PAGE RESULT.json...\n");
    return 2;
  }
  const std::string page = files.front();
  files.erase(files.begin());
  std::sort(files.begin(), files.end());
  try {
    return run(checks, page, files);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_page: %s\n", error.what());
    return 2;
  }
}
