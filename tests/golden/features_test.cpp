// SPDX-License-Identifier: Apache-2.0
// requires: json
// The features of the reference's complete programs, CPU and GPU: the same rows, to 1e-5.
#include "tensorsmith/feature/extract.hpp"

#include <map>

#include "support/catch.hpp"
#include "support/feature_rows.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/sched/replay.hpp"

namespace tensorsmith::test {
namespace {

/// What the closest of the rows that are left differs by from `expected`; that row is taken.
std::string take_closest(const FeatureMatrix& features, std::vector<bool>& used,
                         const std::vector<double>& expected) {
  std::string closest;
  std::size_t best = features.num_rows;
  for (std::size_t r = 0; r < features.num_rows; ++r) {
    if (used[r]) {
      continue;
    }
    const std::string text = difference(features.row(r), expected);
    if (best == features.num_rows || text.size() < closest.size()) {
      closest = text;
      best = r;
    }
  }
  used[best] = true;
  return closest;
}

/// What differs, row by row; empty if nothing does.
std::string difference_of(const FeatureMatrix& features, const Json& expected) {
  if (features.num_rows != expected.size()) {
    return std::to_string(features.num_rows) + " rows instead of " +
           std::to_string(expected.size());
  }
  std::string text;
  std::vector<bool> used(features.num_rows, false);
  for (const Json& row : expected) {
    text += take_closest(features, used, row);
  }
  return text;
}

/// Rows instead of those in samples_cuda.jsonl, by "task, sample": the reference's depend on where
/// its memory lies, these do not (README).
std::map<std::string, Json> clean_rows() {
  std::map<std::string, Json> rows;
  for (const GoldenFile& file : golden_files("features_cuda_clean.jsonl")) {
    for (const Json& line : read_json_lines(file.path)) {
      rows.emplace(line.at("task").get<std::string>() + ", sample " + line.at("sample").dump(),
                   line.at("features"));
    }
  }
  return rows;
}

/// The features of every program that has some; all are the same.
void compare_features(const GoldenFile& file, const std::map<std::string, Json>& instead) {
  ComparedRows samples(file.name);
  samples.of("programs' features");
  std::map<std::string, State> initial;
  for (const Json& line : read_json_lines(file.path)) {
    if (line.at("features").is_null()) {
      continue;
    }
    const std::string task = line.at("task");
    const std::string name = task + ", sample " + line.at("sample").dump();
    INFO(name);
    if (initial.count(task) == 0) {
      initial.emplace(task, State::initial(golden_task(task).dag));
    }
    const auto record = ansor_record_from_line(line.at("record").get<std::string>());
    REQUIRE(record.has_value());
    const auto state = replay(initial.at(task), record->steps);
    REQUIRE(state.has_value());
    const auto clean = instead.find(name);
    const Json& expected = clean != instead.end() ? clean->second : line.at("features");
    CHECK(difference_of(extract_features(*state), expected) == "");
    ++samples;
  }
}

}  // namespace

TEST_CASE("features of the reference's CPU programs", "[golden][feature]") {
  for (const GoldenFile& file : golden_files("samples_cpu.jsonl")) {
    compare_features(file, {});
  }
}

TEST_CASE("features of the reference's CUDA programs", "[golden][feature]") {
  const std::map<std::string, Json> clean = clean_rows();
  for (const GoldenFile& file : golden_files("samples_cuda.jsonl")) {
    compare_features(file, clean);
  }
}

TEST_CASE("feature names of the reference", "[golden][feature]") {
  for (const GoldenFile& file : golden_files("feature_names.json")) {
    const Json names = Json::parse(read_text(file.path));
    ComparedRows rows(file.name);
    REQUIRE(names.size() == feature_length);
    for (std::size_t i = 0; i < feature_length; ++i) {
      CHECK(feature_name(i) == names[i]);
      ++rows;
    }
  }
}

}  // namespace tensorsmith::test
