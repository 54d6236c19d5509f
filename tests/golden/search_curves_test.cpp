// SPDX-License-Identifier: Apache-2.0
// requires: json
// Times to a quality, from the published curves of searches.
#include "tensorsmith/report/search_curve.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_data.hpp"

namespace tensorsmith::test {
namespace {

/// What a curve has spent, in seconds or trials, at each of its points.
std::vector<SpentPoint> published_curve(const Json& points, bool in_trials) {
  std::vector<SpentPoint> curve;
  for (const Json& point : points) {
    const double ms = point[1].is_null() ? 0 : point[1].get<double>();
    curve.push_back({point[in_trials ? 2 : 0].get<double>(), 1e6 * ms});
  }
  return curve;
}

}  // namespace

TEST_CASE("published curves of searches: when each was as good as what", "[golden][report]") {
  for (const GoldenFile& file : pruner_files("resnet50_a100_curves.json")) {
    ComparedRows compared(file.name);
    compared.of("points of curves");
    const Json runs = Json::parse(read_text(file.path));
    std::map<std::string, std::vector<SpentPoint>> by_seconds, by_trials;
    for (const auto& [name, run] : runs.items()) {
      INFO(name);
      const Json& points = run.at("elapsed_s__latency_ms__trials");
      by_seconds[name] = published_curve(points, false);
      by_trials[name] = published_curve(points, true);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const SpentPoint& point = by_seconds[name][i];
        const double earlier = i > 0 ? by_seconds[name][i - 1].best_ns : 0;
        CHECK((earlier <= 0 || point.best_ns <= earlier));
        CHECK(best_after(by_seconds[name], point.spent) == point.best_ns);
        if (point.best_ns > 0) {
          CHECK(spent_until(by_seconds[name], point.best_ns) <= point.spent);
          CHECK(best_after(by_seconds[name], spent_until(by_seconds[name], point.best_ns)) ==
                point.best_ns);
        }
        ++compared;
      }
      CHECK(spent_until(by_seconds[name], 1) == math::infinity);
      // The last column of the final line is the time that it ended at, the one before the latency
      // that was measured.
      CHECK(run.at("final").size() == 8);
    }
    if (!golden_is_own()) {
      continue;
    }
    // The table of the specification: seconds and trials to the quality that the baseline ends at.
    const double ansor = by_seconds.at("2000_ansor").back().best_ns;
    CHECK(ansor == Approx(1.592e6));
    CHECK(spent_until(by_seconds.at("2000_ansor"), ansor) == 6691);
    CHECK(spent_until(by_seconds.at("2000_pam_wopretrain_a100_40"), ansor) == 1930);
    CHECK(spent_until(by_trials.at("2000_pam_wopretrain_a100_40"), ansor) == 730);
    const std::string moa = "2000_pam-siamese-update_pam_k80_1500_a100_40";
    CHECK(spent_until(by_seconds.at(moa), ansor) == 1316);
    CHECK(spent_until(by_trials.at(moa), ansor) == 540);
    CHECK(spent_until(by_seconds.at("2000_tensetmlp"), ansor) == math::infinity);
    CHECK(spent_until(by_trials.at("2000_pam-no-update_fine_tune_pam_a100_a100_40"), ansor) == 570);
    CHECK(best_after(by_trials.at(moa), 500) == Approx(1.599e6));
    CHECK(best_after(by_trials.at("2000_ansor"), 270) == Approx(3.069e6));
  }
}

}  // namespace tensorsmith::test
