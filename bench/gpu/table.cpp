// requires: json
#include "table.hpp"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/version.hpp"

namespace tensorsmith::bench {
namespace {

using Json = nlohmann::json;

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    throw Error(path + " cannot be read");
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string number(const Json& value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value.is_number() ? value.get<double>() : 0.0);
  return value.is_number() ? text : "-";
}

/// One row per case; libraries that were absent are named below.
std::string table_of(const Json& all) {
  std::string text = "Measured on " + all["date"].get<std::string>() + ": " +
                     all["device"]["name"].get<std::string>() + ", driver of CUDA " +
                     all["device"]["driver"].get<std::string>() + ", NVRTC " +
                     all["device"]["nvrtc"].get<std::string>() +
                     ". Ratios are those of times in one run; above 1 ours is faster.\n\n" +
                     "| workload | us | GFLOP/s | GB/s | to cuBLAS | to cuBLASLt | to a copy | "
                     "verified | trials/s | rank correlation of the model |\n"
                     "|---|---|---|---|---|---|---|---|---|---|\n";
  std::string absent;
  for (const Json& one : all["cases"]) {
    const auto ratio = [&](const char* peer) {
      const Json found = one["peers"].value(peer, Json::object());
      if (found.contains("absent") && absent.find(peer + std::string(": ")) == std::string::npos) {
        absent += std::string(peer) + ": " + found["absent"].get<std::string>() + ".\n";
      }
      return number(found.value("ratio", Json(nullptr)), "%.2f");
    };
    text += "| `" + one["workload"].get<std::string>() + "` | " +
            number(one["ours_ns"].get<double>() / 1e3, "%.2f") + " | " +
            number(one["gflops"], "%.0f") + " | " + number(one["gb_per_s"], "%.0f") + " | " +
            ratio("cublas") + " | " + ratio("cublasLt") + " | " + ratio("copy") + " | " +
            (one["tune"]["verified"].get<bool>() ? "yes" : "no") + " | " +
            number(one["tune"]["trials_per_second"], "%.1f") + " | " +
            number(one["model"]["spearman"], "%.2f") + " |\n";
  }
  return text + (absent.empty() ? "" : "\n" + absent);
}

}  // namespace

int merge_results(const std::vector<std::string>& files, const std::string& merged,
                  const std::string& page_file) {
  char date[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  Json all{{"date", date}, {"tensorsmith", version_string}, {"cases", Json::array()}};
  for (const std::string& file : files) {
    all["cases"].push_back(Json::parse(read_file(file)));
  }
  all["device"] = all["cases"][0]["device"];
  std::ofstream(merged) << all.dump(1) << "\n";
  const std::string table = table_of(all);
  std::cout << table;
  if (!page_file.empty()) {
    const std::string begin = "<!-- gpu results -->\n", end = "<!-- end of gpu results -->\n";
    std::string page = read_file(page_file);
    const std::size_t first = page.find(begin), last = page.find(end);
    if (first == std::string::npos || last == std::string::npos || last < first) {
      throw Error(page_file + " has no place for the table");
    }
    page.replace(first + begin.size(), last - first - begin.size(), table);
    std::ofstream(page_file) << page;
  }
  return 0;
}

}  // namespace tensorsmith::bench
