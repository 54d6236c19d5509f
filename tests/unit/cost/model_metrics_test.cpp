// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/model_metrics.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

using test::Approx;

ScoredTask drawn_task(CounterRng& rng, std::size_t size) {
  ScoredTask task{1 + rng.next_double(), 1 + rng.next_double(), {}, {}};
  for (std::size_t i = 0; i < size; ++i) {
    task.scores.push_back(static_cast<float>(rng.next_double()));
    task.labels.push_back(static_cast<float>(rng.next_double()));
  }
  if (!task.labels.empty()) {
    task.labels[rng.next_below(static_cast<std::uint32_t>(size))] = 1;
  }
  return task;
}

}  // namespace

TEST_CASE("metrics: worked values", "[cost]") {
  const ScoredTask first{3, 0.10, {0.9F, 0.1F, 0.5F, 0.7F, 0.3F}, {0.6F, 1.0F, 0.8F, 0.7F, 0.2F}};
  const ScoredTask second{1, 0.50, {0.2F, 0.1F, 0.3F}, {0.5F, 1.0F, 0.25F}};
  const MetricsReport report = metrics_report({&first, 1});
  CHECK(report.rmse == Approx(0.447214).epsilon(1e-5));
  CHECK(report.r_squared == Approx(-1.840909).epsilon(1e-5));
  CHECK(report.mean_relative_error == Approx(0.455).epsilon(1e-5));
  CHECK(report.pair_accuracy == Approx(0.3));
  CHECK(report.recall[0] == 0);
  CHECK(report.recall[1] == Approx(0.666667).epsilon(1e-5));
  CHECK(report.peak[0] == Approx(0.6));
  CHECK(report.peak[1] == Approx(0.7));
  CHECK(report.peak[2] == Approx(0.78));
  const std::vector<ScoredTask> network{first, second};
  CHECK(network_top_score(network, 1) == Approx(0.32));
  CHECK(network_top_score(network, 2) == Approx(0.56));
  CHECK(network_top_score(network, 3) == Approx(0.914286).epsilon(1e-5));
  CHECK(network_draft_score(network, 3, 1) == Approx(0.914286).epsilon(1e-5));
  CHECK(network_draft_score(network, 3, 2) == Approx(0.56));
}

TEST_CASE("metrics: laws of random tasks", "[cost]") {
  CounterRng rng(test::seed(), 0x6d6574U);
  for (int round = 0; round < 50; ++round) {
    std::vector<ScoredTask> tasks;
    for (std::uint32_t t = 0; t < 1 + rng.next_below(4); ++t) {
      tasks.push_back(drawn_task(rng, rng.next_below(40)));
    }
    // Labels as scores are perfect, and no score is better.
    std::vector<ScoredTask> perfect = tasks;
    for (ScoredTask& task : perfect) {
      task.scores = task.labels;
    }
    const MetricsReport ours = metrics_report(tasks), best = metrics_report(perfect);
    if (ours.num_programs == 0) {
      continue;
    }
    CHECK(best.rmse == 0);
    CHECK(best.r_squared == Approx(1));
    CHECK(best.peak[0] == Approx(1));
    CHECK(network_top_score(perfect, 1) == Approx(1));
    CHECK(best.pair_accuracy >= ours.pair_accuracy);
    double before = 0;
    for (const std::size_t k : {1, 2, 5, 40}) {
      const double share = network_top_score(tasks, k);
      CHECK(share >= before);
      CHECK(share <= 1 + 1e-9);
      // The best of a draft of k is what the first k hold.
      CHECK(network_draft_score(tasks, k, 1) == Approx(share));
      before = share;
    }
    CHECK(before == Approx(1));
    for (std::size_t i = 0; i < MetricsReport::tops.size(); ++i) {
      CHECK(ours.recall[i] <= best.recall[i] + 1e-9);
      CHECK(ours.peak[i] <= 1 + 1e-9);
    }
    // A rising function of the scores changes no order.
    std::vector<ScoredTask> warped = tasks;
    for (ScoredTask& task : warped) {
      for (float& score : task.scores) {
        score = std::exp2(4 * score);
      }
    }
    const MetricsReport after = metrics_report(warped);
    CHECK(after.pair_accuracy == ours.pair_accuracy);
    CHECK(after.peak == ours.peak);
    CHECK(after.recall == ours.recall);
  }
}

TEST_CASE("metrics: few programs, equal labels, failures", "[cost]") {
  CHECK(metrics_report({}).num_tasks == 0);
  CHECK(pair_accuracy(std::vector<float>{1}, std::vector<float>{1}) == 0.5);
  CHECK(r_squared(std::vector<float>{1, 2}, std::vector<float>{1, 1}) == 1);
  CHECK(peak_score(std::vector<float>{1, 2}, std::vector<float>{0, 0}, 1) == 0);
  CHECK(descending_order(std::vector<float>{1, 3, 1, 3}) == std::vector<std::uint32_t>{1, 3, 0, 2});
  const ScoredTask failed{1, 1, {1, 2}, {1, 0}};
  CHECK(network_top_score({&failed, 1}, 1) == Approx(1e-5));
}

}  // namespace tensorsmith
