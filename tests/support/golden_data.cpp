// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "support/golden_data.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tensorsmith/support/algorithm.hpp"

#if TENSORSMITH_TEST_ZLIB
#include <zlib.h>
#endif

namespace tensorsmith::test {
namespace {

struct Folder {
  std::string name, path;  // with a slash at the end
};

const char* given_folder() {
  const char* given = std::getenv("TENSORSMITH_GOLDEN_DIR");
  return given != nullptr && given[0] != '\0' ? given : nullptr;
}

std::vector<Folder> golden_folders() {
  if (const char* given = given_folder()) {
    return {{"ansor/", std::string(given) + "/ansor/"}};
  }
  const std::string all = std::string(TENSORSMITH_TEST_DATA_DIR) + "/golden/";
  return {{"ansor/", all + "ansor/"}, {"second/ansor/", all + "second/ansor/"}};
}

/// The second folder was made without these.
bool is_only_in_first(const std::string& folder, const std::string& file) {
  const std::vector<std::string> names{"egraph.json",
                                       "felix/feature_names.json",
                                       "layout_rewrite.jsonl",
                                       "logs",
                                       "logs_index.json",
                                       "losses.json",
                                       "metrics.json",
                                       "mlp_formula_net.json",
                                       "nn_formula_nets.json",
                                       "nn_tiny.json",
                                       "resnet50_a100_curves.json",
                                       "spec_cases.json",
                                       "symbolic_matmul.jsonl",
                                       "training_on_logs.json",
                                       "weights"};
  return has_item(names, file) || has_item(names, folder + file);
}

std::string read_compressed(const std::string& path) {
#if TENSORSMITH_TEST_ZLIB
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    throw std::runtime_error("cannot open " + path);
  }
  std::string text, part(1 << 16, '\0');
  int count = 0;
  while ((count = gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  if (gzclose(file) != Z_OK || count < 0) {
    throw std::runtime_error("damaged: " + path);
  }
  return text;
#else
  throw std::runtime_error("cannot read " + path + ": install zlib1g-dev and configure again");
#endif
}

}  // namespace

std::string own_golden_path(const std::string& file) {
  return std::string(TENSORSMITH_TEST_DATA_DIR) + "/golden/ansor/" + file;
}
bool golden_is_own() { return given_folder() == nullptr; }

namespace {

std::vector<GoldenFile> files_of(const std::vector<Folder>& folders, const std::string& file) {
  std::vector<GoldenFile> files;
  for (const Folder& folder : folders) {
    const std::string path = folder.path + file;
    if (std::filesystem::exists(path) || std::filesystem::exists(path + ".gz")) {
      files.push_back({folder.name + file, path});
    } else if (!golden_is_own()) {
      std::printf("golden: %s: not in %s, skipped\n", (folder.name + file).c_str(), given_folder());
    } else if (&folder == &folders.front() || !is_only_in_first(folders.front().name, file)) {
      throw std::runtime_error("neither " + path + " nor " + path + ".gz is there");
    }
  }
  return files;
}

}  // namespace

std::vector<GoldenFile> golden_files(const std::string& file) {
  return files_of(golden_folders(), file);
}
namespace {

/// Of a folder beside ansor/ and of the folder second/ in it.
std::vector<GoldenFile> files_beside(const std::string& folder, const std::string& file) {
  if (const char* given = given_folder()) {
    return files_of({{folder, std::string(given) + "/" + folder}}, file);
  }
  const std::string all = std::string(TENSORSMITH_TEST_DATA_DIR) + "/golden/" + folder;
  return files_of({{folder, all}, {folder + "second/", all + "second/"}}, file);
}

}  // namespace

std::vector<GoldenFile> pruner_files(const std::string& file) {
  return files_beside("pruner/", file);
}
std::vector<GoldenFile> felix_files(const std::string& file) {
  return files_beside("felix/", file);
}

std::vector<GoldenFile> golden_networks() {
  const std::string all =
      golden_is_own() ? std::string(TENSORSMITH_TEST_DATA_DIR) + "/golden" : given_folder();
  const std::string folder = all + "/networks";
  std::vector<GoldenFile> files;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      const std::size_t end = name.find(".json");
      if (end != std::string::npos && name != "summary.json") {
        files.push_back({"networks/" + name.substr(0, end) + ".json",
                         folder + "/" + name.substr(0, end) + ".json"});
      }
    }
  }
  if (files.empty() && golden_is_own()) {
    throw std::runtime_error("no networks in " + folder);
  }
  if (files.empty()) {
    std::printf("golden: networks/: not in %s, skipped\n", given_folder());
  }
  std::sort(files.begin(), files.end(),
            [](const GoldenFile& a, const GoldenFile& b) { return a.name < b.name; });
  return files;
}

std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_text(path);
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (file.good()) {
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
  }
  if (!std::filesystem::exists(path + ".gz")) {
    throw std::runtime_error("neither " + path + " nor " + path + ".gz is there");
  }
  return read_compressed(path + ".gz");
}

std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::vector<Json> read_json_lines(const std::string& path) {
  std::vector<Json> values;
  for (const std::string& line : text_lines(read_text(path))) {
    values.push_back(Json::parse(line));
  }
  return values;
}

std::vector<GoldenFile> golden_logs() {
  std::vector<GoldenFile> logs;
  for (const GoldenFile& folder : golden_files("logs")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
      std::string name = entry.path().filename().string();
      if (name.size() > 3 && name.compare(name.size() - 3, 3, ".gz") == 0) {
        name.resize(name.size() - 3);
      }
      logs.push_back({folder.name + "/" + name, folder.path + "/" + name});
    }
  }
  std::sort(logs.begin(), logs.end(),
            [](const GoldenFile& a, const GoldenFile& b) { return a.name < b.name; });
  return logs;
}

}  // namespace tensorsmith::test
