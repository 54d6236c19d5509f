// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/ranking.hpp"

#include "support/catch.hpp"

#include <vector>

#include "tensorsmith/support/rng.hpp"

using tensorsmith::lambda_rank_loss;
using tensorsmith::rank_report;
using tensorsmith::RankReport;
using tensorsmith::test::Approx;

namespace {

using Floats = std::vector<float>;

double loss_of(const Floats& scores, const Floats& labels) {
  return lambda_rank_loss(scores, labels, {});
}

}  // namespace

TEST_CASE("LambdaRank: worked values", "[cost]") {
  CHECK(loss_of({0.2F, 1.5F, -0.3F, 0.8F}, {1.0F, 0.5F, 0.25F, 0.8F}) ==
        Approx(0.5730862).epsilon(1e-6));
  CHECK(loss_of({2.0F, 1.0F}, {1.0F, 0.5F}) == Approx(0.0774637).epsilon(1e-5));
  CHECK(loss_of({1.0F, 2.0F}, {1.0F, 0.5F}) == Approx(0.3247447).epsilon(1e-5));
}

TEST_CASE("LambdaRank: nothing to order, nothing to pay", "[cost]") {
  CHECK(loss_of({}, {}) == 0.0);
  CHECK(loss_of({3.0F}, {1.0F}) == 0.0);
  CHECK(loss_of({3.0F, 1.0F, 2.0F}, {0.5F, 0.5F, 0.5F}) == 0.0);
  Floats gradient(3, 0.0F);
  CHECK(lambda_rank_loss(Floats{3.0F, 1.0F, 2.0F}, Floats{0.0F, 0.0F, 0.0F}, gradient) == 0.0);
  CHECK(gradient == Floats(3, 0.0F));
}

TEST_CASE("LambdaRank: the gradient is the slope while the ranks stay", "[cost]") {
  tensorsmith::CounterRng rng(tensorsmith::test::seed(), 17);
  Floats scores, labels;
  for (int i = 0; i < 12; ++i) {
    scores.push_back(static_cast<float>(i) + 0.5F * static_cast<float>(rng.next_double()));
    labels.push_back(static_cast<float>(rng.next_double()));
  }
  Floats gradient(scores.size(), 0.0F);
  lambda_rank_loss(scores, labels, gradient);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    constexpr float step = 1.0F / 64;
    Floats up = scores, down = scores;
    up[i] += step;
    down[i] -= step;
    const double slope = (loss_of(up, labels) - loss_of(down, labels)) / (up[i] - down[i]);
    CHECK(gradient[i] == Approx(slope).margin(1e-4));
  }
}

TEST_CASE("LambdaRank: far apart scores stay finite", "[cost]") {
  Floats gradient(2, 0.0F);
  const double loss = lambda_rank_loss(Floats{-1e6F, 1e6F}, Floats{1.0F, 0.0F}, gradient);
  CHECK(loss > 1e5);
  CHECK(loss < 1e8);
  CHECK(gradient[0] < 0.0F);
  CHECK(gradient[1] == -gradient[0]);
}

TEST_CASE("the gradient is added to what is there", "[cost]") {
  Floats once(2, 0.0F), twice(2, 0.0F);
  const Floats scores{1.0F, 2.0F}, labels{1.0F, 0.5F};
  lambda_rank_loss(scores, labels, once);
  lambda_rank_loss(scores, labels, twice);
  lambda_rank_loss(scores, labels, twice);
  CHECK(twice[0] == Approx(2.0 * once[0]));
}

TEST_CASE("rank report: right, wrong and tied scores", "[cost]") {
  const Floats labels{1.0F, 0.5F, 0.25F};
  const std::vector<std::uint32_t> one_task{4, 4, 4};
  const RankReport right = rank_report(Floats{3.0F, 2.0F, 1.0F}, labels, one_task, 1);
  CHECK(right.num_pairs == 3);
  CHECK(right.pairwise_accuracy() == 1.0);
  CHECK(right.best_of_top == 1.0);
  const RankReport wrong = rank_report(Floats{1.0F, 2.0F, 3.0F}, labels, one_task, 1);
  CHECK(wrong.pairwise_accuracy() == 0.0);
  CHECK(wrong.best_of_top == 0.25);
  RankReport tied = rank_report(Floats{1.0F, 1.0F, 1.0F}, labels, one_task);
  CHECK(tied.num_correct == 0);
  CHECK(right.correlation() == 1.0);
  CHECK(wrong.correlation() == -1.0);
  CHECK(tied.correlation() == 0.0);
  tied.add(right);
  CHECK(tied.num_pairs == 6);
  CHECK(tied.correlation() == 0.5);
  CHECK(tied.best_of_top == 1.0);
}

TEST_CASE("rank report: only pairs of one task with different labels count", "[cost]") {
  const RankReport report =
      rank_report(Floats{1.0F, 2.0F, 9.0F, 8.0F, 7.0F}, Floats{1.0F, 0.5F, 0.1F, 0.1F, 1.0F},
                  std::vector<std::uint32_t>{1, 1, 2, 2, 3});
  CHECK(report.num_pairs == 1);
  CHECK(report.num_correct == 0);
  CHECK(report.num_tasks == 1);
  CHECK(rank_report(Floats{}, Floats{}, std::vector<std::uint32_t>{}).pairwise_accuracy() == 0.5);
}

TEST_CASE("labels are relative to the best of the task", "[cost]") {
  CHECK(tensorsmith::normalized_throughput(5.0, 10.0) == 0.5F);
  CHECK(tensorsmith::normalized_throughput(0.0, 10.0) == 0.0F);
  CHECK(tensorsmith::normalized_throughput(0.0, 0.0) == 0.0F);
}

TEST_CASE("ranks are descending, ties by index", "[cost]") {
  CHECK(tensorsmith::descending_ranks(Floats{2.0F, 5.0F, 2.0F, -1.0F}) ==
        std::vector<std::uint32_t>{1, 0, 2, 3});
}
