// requires: json
// The features of the reference's complete programs, CPU and GPU: the same rows, to 1e-5.
#include "tensorsmith/feature/extract.hpp"

#include <cstdio>
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

/// Compares the features of every program that has some. Of other data than the project's own,
/// where nobody has looked at the causes, two in a hundred may differ.
void compare_features(const std::string& file) {
  ComparedRows samples(file);
  samples.of("programs' features");
  std::map<std::string, State> initial;
  std::size_t num_identical = 0, num_others = 0;
  const bool is_own = golden_path(file) == own_golden_path(file);
  for (const Json& line : read_json_lines(golden_path(file))) {
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
    // Whether the reference takes thread loops of two kernels for one depends on its memory.
    FeatureOptions options;
    const std::string found = difference_of(extract_features(*state, options), line.at("features"));
    options.thread_loops = ThreadLoops::per_kernel;
    const bool is_identical =
        found == "" || difference_of(extract_features(*state, options), line.at("features")) == "";
    num_identical += is_identical ? 1 : 0;
    if (!is_identical) {
      ++num_others;
      std::printf("golden: %s: %s differs: %s\n", file.c_str(), name.c_str(), found.c_str());
      CHECK(!is_own);
    }
    ++samples;
  }
  std::printf("golden: %s: %zu programs with identical features, %zu others\n", file.c_str(),
              num_identical, num_others);
  CHECK(100 * num_identical >= 98 * (num_identical + num_others));
}

}  // namespace

TEST_CASE("features of the reference's CPU programs", "[golden][feature]") {
  compare_features("samples_cpu.jsonl");
}

TEST_CASE("features of the reference's CUDA programs", "[golden][feature]") {
  compare_features("samples_cuda.jsonl");
}

TEST_CASE("feature names of the reference", "[golden][feature]") {
  const Json names = Json::parse(read_text(golden_path("feature_names.json")));
  ComparedRows rows("feature_names.json");
  REQUIRE(names.size() == feature_length);
  for (std::size_t i = 0; i < feature_length; ++i) {
    CHECK(feature_name(i) == names[i]);
    ++rows;
  }
}

}  // namespace tensorsmith::test
