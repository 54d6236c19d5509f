// SPDX-License-Identifier: Apache-2.0
// requires: json
// bench_records: how fast logs of the Ansor reference load, and how fast the best record is found.
//
//   bench_records FILE.json [NUM_RECORDS]
//
// The records of the file are repeated, with other workload keys, up to NUM_RECORDS (50,000).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tensorsmith/record/ansor_history.hpp"

using namespace tensorsmith;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_records LOG [NUM_RECORDS]\n");
    return 2;
  }
  const Result<AnsorLog, RecordError> log = read_ansor_log(argv[1]);
  if (!log || log->records.empty()) {
    std::fprintf(stderr, "%s\n", log ? "no records" : log.error().message.c_str());
    return 2;
  }
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 50'000;
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    AnsorRecord record = log->records[i % log->records.size()];
    record.workload_key = "[\"matmul\", 512, 512, " + std::to_string(i % 500 + 1) + "]";
    text += *ansor_record_to_line(record) + '\n';
  }
  auto start = std::chrono::steady_clock::now();
  const AnsorLog loaded = ansor_log_from_text(text);
  const double load = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const AnsorHistory history(loaded.records);
  const double index = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const AnsorRecord* best = history.find("[\"matmul\", 512, 512, 333]", "llvm -keys=cpu");
  const double exact = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const AnsorRecord* near = history.find("[\"matmul\", 512, 512, 1024]", "llvm -keys=cpu", true);
  const double compatible = seconds_since(start);
  std::printf("%zu records, %.1f MB: load %.0f records/s, index %.1f ms, best-of query %.3f ms, "
              "compatible %.3f ms%s\n",
              loaded.records.size(), static_cast<double>(text.size()) * 1e-6,
              static_cast<double>(count) / load, index * 1e3, exact * 1e3, compatible * 1e3,
              best != nullptr && near != nullptr ? "" : " (not found)");
  return best != nullptr && near != nullptr ? 0 : 1;
}
