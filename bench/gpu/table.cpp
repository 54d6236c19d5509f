// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "table.hpp"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

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

/// Libraries in the order of their columns, by the name of the peer.
constexpr std::pair<const char*, const char*> columns[] = {{"cublas", "cuBLAS"},
                                                           {"cublasLt", "cuBLASLt"},
                                                           {"cudnn", "cuDNN"},
                                                           {"cublas+cudnn", "cuBLAS + cuDNN"},
                                                           {"copy", "a copy"}};

/// "cuDNN not found" of "cuDNN not found: ...".
std::string short_of(const std::string& absent) {
  return absent.find("not found:") != std::string::npos ? absent.substr(0, absent.find(':')) : "-";
}

/// Ours with the reference, or with a library where there is no reference.
std::string verified_cell(const Json& one) {
  const Json same = one.value("same_result", Json::array());
  return one["tune"]["verified"].get<bool>() ? "yes"
         : same.empty()                      ? "no"
                                             : "as " + same[0].get<std::string>();
}

/// One row per case; libraries that were absent are named below.
std::string table_of(const Json& all) {
  std::string text = "Measured on " + all["date"].get<std::string>() + ": " +
                     all["device"]["name"].get<std::string>() + ", driver of CUDA " +
                     all["device"]["driver"].get<std::string>() + ", NVRTC " +
                     all["device"]["nvrtc"].get<std::string>() +
                     ". Ratios are those of times in one run; above 1 ours is faster.\n\n" +
                     "| workload | us | GFLOP/s | GB/s |";
  std::string line = "\n|---|---|---|---|";
  for (const auto& [peer, title] : columns) {
    text += std::string(" to ") + title + " |";
    line += "---|";
  }
  text += " verified | trials/s | rank correlation of the model |" + line + "---|---|---|\n";
  std::string absent;
  for (const Json& one : all["cases"]) {
    text += "| `" + one["workload"].get<std::string>() + "`" +
            (one.value("math", "") == "tf32" ? " in TF32" : "") + " | " +
            number(one["ours_ns"].get<double>() / 1e3, "%.2f") + " | " +
            number(one["gflops"], "%.0f") + " | " + number(one["gb_per_s"], "%.0f") + " |";
    for (const auto& [peer, title] : columns) {
      const Json found = one["peers"].value(peer, Json::object());
      const std::string why = found.value("absent", "");
      if (!why.empty() && absent.find(why) == std::string::npos) {
        absent += std::string(peer) + ": " + why + ".\n";
      }
      text += " " +
              (why.empty() ? number(found.value("ratio", Json(nullptr)), "%.2f") : short_of(why)) +
              " |";
    }
    text += " " + verified_cell(one) + " | " + number(one["tune"]["trials_per_second"], "%.1f") +
            " | " + number(one["model"]["spearman"], "%.2f") + " |\n";
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
