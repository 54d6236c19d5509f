// SPDX-License-Identifier: Apache-2.0
// requires: json
// The latency model against times that a GPU gave: programs of journals in tests/data/h200, drawn
// at random, so that no model chose them. A fence: how well each file is ordered and sized may get
// better, and must not get worse than the numbers here. TENSORSMITH_GOLDEN_DIR: journals in h200/
// of that folder instead, of any board.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_data.hpp"
#include "tensorsmith/cost/estimate_quality.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/record_file.hpp"
#include "tensorsmith/sched/replay.hpp"

namespace tensorsmith {
namespace {

std::vector<std::string> measured_journals() {
  const char* given = std::getenv("TENSORSMITH_GOLDEN_DIR");
  const bool is_own = given == nullptr || given[0] == '\0';
  const std::filesystem::path folder =
      std::filesystem::path(is_own ? TENSORSMITH_TEST_DATA_DIR : given) / "h200";
  std::vector<std::string> paths;
  if (!is_own && !std::filesystem::exists(folder)) {
    return paths;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".gz" || entry.path().extension() == ".jsonl") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  REQUIRE((!is_own || !paths.empty()));
  return paths;
}

struct MeasuredTimes {
  std::vector<double> estimates, measured;

  /// Pairs of which one takes 1.25 times as long as the other or more, and those of them that the
  /// estimates put in order.
  void count_pairs(double& pairs, double& right) const {
    for (std::size_t i = 0; i < measured.size(); ++i) {
      for (std::size_t j = 0; j < measured.size(); ++j) {
        const bool is_pair = measured[i] > 1.25 * measured[j];
        pairs += is_pair ? 1 : 0;
        right += is_pair && estimates[i] > estimates[j] ? 1 : 0;
      }
    }
  }
  /// Time of the program of the least estimate, by that of the fastest.
  double first_choice() const {
    const auto first = std::min_element(estimates.begin(), estimates.end()) - estimates.begin();
    return measured[static_cast<std::size_t>(first)] /
           *std::min_element(measured.begin(), measured.end());
  }
};

/// By workload. Every record replays; what ran, lowers and has an estimate.
std::map<std::string, MeasuredTimes> times_of(const std::string& path) {
  const auto file = read_record_file(path);
  REQUIRE(file.has_value());
  CHECK(file->skipped.empty());
  CHECK(file->is_journal());
  test::ComparedRows rows(std::filesystem::path(path).filename().string());
  std::map<std::string, MeasuredTimes> times;
  std::map<std::string, State> initial;
  for (const RecordLine& line : file->lines) {
    const Record& record = *line.journal;
    const auto target = Target::from_name(record.target);
    REQUIRE(target.has_value());
    auto found = initial.find(record.workload);
    if (found == initial.end()) {
      const auto workload = ops::parse_workload(record.workload);
      REQUIRE(workload.has_value());
      found = initial.emplace(record.workload, State::initial(workload->dag)).first;
    }
    const auto state = replay(found->second, record.steps);
    REQUIRE(state.has_value());
    const auto program = lower(*state, *target);
    REQUIRE(program.has_value());
    ++rows;
    if (record.is_ok()) {
      const auto latency = gpu_latency(*program, *target);
      REQUIRE(latency.has_value());
      times[record.workload].estimates.push_back(latency->ns);
      times[record.workload].measured.push_back(record.min_ns);
    }
  }
  return times;
}

}  // namespace

TEST_CASE("the model of a board orders and sizes programs that were measured on it") {
  double all_correlations = 0, all_choices = 0;
  const std::vector<std::string> paths = measured_journals();
  for (const std::string& path : paths) {
    const std::map<std::string, MeasuredTimes> of_file = times_of(path);
    REQUIRE(!of_file.empty());
    double pairs = 0, right = 0, correlations = 0, factors = 0, choices = 0;
    for (const auto& [workload, times] : of_file) {
      const EstimateQuality quality = estimate_quality(times.estimates, times.measured);
      INFO(path << ", " << workload << ": factor " << quality.mean_factor << ", first choice "
                << times.first_choice());
      CHECK(quality.mean_factor > 0.5);
      CHECK(quality.mean_factor < 2);
      CHECK(times.first_choice() < 2);
      times.count_pairs(pairs, right);
      correlations += quality.spearman;
      factors += math::log2(quality.mean_factor);
      choices += math::log2(times.first_choice());
    }
    const auto count = static_cast<double>(of_file.size());
    INFO(path << ": rank correlation " << correlations / count << ", factor "
              << math::exp2(factors / count) << ", pairs " << right << " of " << pairs
              << ", first choice " << math::exp2(choices / count));
    CHECK((pairs == 0 || right > 0.75 * pairs));
    CHECK(math::exp2(factors / count) < 1.5);
    all_correlations += correlations / count;
    all_choices += choices / count;
  }
  if (!paths.empty()) {
    const auto count = static_cast<double>(paths.size());
    CHECK(all_correlations / count > 0.8);
    CHECK(math::exp2(all_choices / count) < 1.15);
  }
}

}  // namespace tensorsmith
