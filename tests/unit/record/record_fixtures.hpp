// SPDX-License-Identifier: Apache-2.0
// What the tests of the journal share: a file of their own, and records.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

#include "tensorsmith/record/journal.hpp"

namespace tensorsmith::test {

/// A path in a folder of its own that goes away with the object.
struct TemporaryFile {
  TemporaryFile() {
    folder = std::filesystem::temp_directory_path() /
             ("tensorsmith-journal-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(folder);
    path = (folder / "journal.jsonl").string();
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder); }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
  std::string read() const {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static inline int count = 0;
  std::filesystem::path folder;
  std::string path;
};

inline Record some_record(std::int64_t trial, double min_ns) {
  Record record;
  record.workload = "gemm:512x512x512:f32";
  record.workload_key = "[\"abc\", 512]";
  record.target = "host";
  record.cpu = "some cpu";
  record.machine = "0123456789abcdef";
  record.space = "native";
  record.policy = "evolution";
  record.seed = ~std::uint64_t{0};
  record.num_threads = 2;
  record.round = 3;
  record.trial = trial;
  record.steps = {SplitStep{2, 0, 512, {2, 128, 2}, true}, ComputeAtStep{2, 3, 3}};
  record.status = MeasureStatus::ok;
  record.is_verified = true;
  record.min_ns = min_ns;
  record.median_ns = min_ns * 1.1;
  record.seconds = 0.1;
  return record;
}

}  // namespace tensorsmith::test
