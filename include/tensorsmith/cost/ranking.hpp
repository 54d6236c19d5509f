// SPDX-License-Identifier: Apache-2.0
// Ranking of programs: labels per task, the LambdaRank loss, and how well scores order a task.
//
// Floor 6. Labels: Ansor reference, ch. 7. Loss: LambdaRank as TenSet uses it (NeurIPS 2021
// datasets; Burges 2010), except that only programs of one task are compared with each other.
// Not here: any model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/flat_map.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

/// min cost of the task / cost, in [0, 1]; 0 = failed or best of the task unknown.
inline float normalized_throughput(double throughput, double best_of_task) {
  return throughput > 0.0 && best_of_task > 0.0 ? static_cast<float>(throughput / best_of_task)
                                                : 0.0F;
}

/// Position of every value when sorted descending, from 0; ties: the earlier index first. O(n^2),
/// as is the loss; <algorithm> would cost every user of a cost model 10k preprocessed lines.
inline std::vector<std::uint32_t> descending_ranks(std::span<const float> values) {
  std::vector<std::uint32_t> ranks(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      ++ranks[values[j] > values[i] ? i : j];
    }
  }
  return ranks;
}

/// LambdaRank loss of one task's list, in bits, summed over the pairs. When `gradient` is not
/// empty, d loss / d scores is added to it; ranks and pair weights count as constants. O(n^2).
///
/// With r_i the rank from 1 by descending score, t_i the label, D_i = log2(1 + r_i),
/// G_i = (2^t_i - 1) / maxDCG and w_ij = |1/D_i - 1/D_j| * |G_i - G_j|:
/// loss = - sum over t_i > t_j of w_ij * log2(sigmoid(s_i - s_j)).
/// A sigmoid below `least_sigmoid` counts as that, and has no slope.
inline double lambda_rank_loss(std::span<const float> scores, std::span<const float> labels,
                               std::span<float> gradient, double least_sigmoid = 0) {
  const std::size_t n = scores.size();
  TENSORSMITH_ASSERT(labels.size() == n, "one label per score");
  TENSORSMITH_ASSERT(gradient.empty() || gradient.size() == n, "one gradient per score");
  const std::vector<std::uint32_t> ranks = descending_ranks(scores);
  const std::vector<std::uint32_t> ideal_ranks = descending_ranks(labels);
  std::vector<double> discount(n), gain(n);
  double max_dcg = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    discount[i] = 1.0 / math::log2(2.0 + ranks[i]);
    gain[i] = labels[i] > 0.0F ? math::exp2(static_cast<double>(labels[i])) - 1.0 : 0.0;
    max_dcg += gain[i] / math::log2(2.0 + ideal_ranks[i]);
  }
  max_dcg = max_dcg > 1e-10 ? max_dcg : 1e-10;
  constexpr double per_bit = 1.4426950408889634;  // 1 / ln 2
  double loss = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (!(labels[i] > labels[j]) && !(labels[j] > labels[i])) {
        continue;
      }
      const std::size_t better = labels[i] > labels[j] ? i : j;
      const std::size_t worse = better == i ? j : i;
      const double weight =
          math::fabs(discount[i] - discount[j]) * math::fabs(gain[i] - gain[j]) / max_dcg;
      const double margin = static_cast<double>(scores[better]) - scores[worse];
      const double tail = math::exp(-math::fabs(margin));
      if (margin < 0 && tail / (1.0 + tail) < least_sigmoid) {
        loss -= weight * math::log2(least_sigmoid);
        continue;
      }
      loss += weight * per_bit * ((margin < 0.0 ? -margin : 0.0) + math::log1p(tail));
      if (!gradient.empty()) {
        const double wrong = margin >= 0.0 ? tail / (1.0 + tail) : 1.0 / (1.0 + tail);
        const float push = static_cast<float>(weight * per_bit * wrong);
        gradient[better] -= push;
        gradient[worse] += push;
      }
    }
  }
  return loss;
}

/// How well scores order the labels. Pairs with equal labels are left out.
struct RankReport {
  std::uint64_t num_pairs = 0;
  std::uint64_t num_correct = 0;  ///< the better program has the strictly higher score
  std::uint64_t num_wrong = 0;    ///< it has the strictly lower one
  double best_of_top = 0.0;       ///< best true label among the top k / best label, mean over tasks
  std::uint32_t num_tasks = 0;    ///< tasks with at least one pair

  /// 0.5 when there is nothing to compare.
  double pairwise_accuracy() const {
    return num_pairs == 0 ? 0.5 : static_cast<double>(num_correct) / static_cast<double>(num_pairs);
  }
  /// Rank correlation (Somers' D: right pairs less wrong ones, by all of these pairs), -1 .. 1;
  /// pairs with equal scores count as 0, and so does nothing to compare.
  double correlation() const {
    const double difference = static_cast<double>(num_correct) - static_cast<double>(num_wrong);
    return num_pairs == 0 ? 0 : difference / static_cast<double>(num_pairs);
  }
  /// The pairs of both; best_of_top is the mean over the tasks of both.
  void add(const RankReport& other) {
    const std::uint32_t tasks = num_tasks + other.num_tasks;
    if (tasks > 0) {
      best_of_top = (best_of_top * num_tasks + other.best_of_top * other.num_tasks) / tasks;
    }
    num_tasks = tasks;
    num_pairs += other.num_pairs;
    num_correct += other.num_correct;
    num_wrong += other.num_wrong;
  }
};

/// `tasks[i]` groups the programs; only pairs inside a task count. `top_k` feeds best_of_top.
/// O(n^2).
inline RankReport rank_report(std::span<const float> scores, std::span<const float> labels,
                              std::span<const std::uint32_t> tasks, std::uint32_t top_k = 10) {
  const std::size_t n = scores.size();
  TENSORSMITH_ASSERT(labels.size() == n && tasks.size() == n, "one label and task per score");
  struct TaskSums {
    std::uint64_t num_pairs = 0;
    float best = 0.0F, best_in_top = 0.0F;
  };
  FlatMap<std::uint32_t, TaskSums> by_task;
  RankReport report;
  for (std::size_t i = 0; i < n; ++i) {
    TaskSums& sums = by_task[tasks[i]];
    std::uint32_t rank = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (tasks[j] == tasks[i]) {
        rank += scores[j] > scores[i] || (scores[j] == scores[i] && j < i) ? 1U : 0U;
        if (labels[i] > labels[j]) {
          ++sums.num_pairs;
          report.num_correct += scores[i] > scores[j] ? 1U : 0U;
          report.num_wrong += scores[i] < scores[j] ? 1U : 0U;
        }
      }
    }
    sums.best = labels[i] > sums.best ? labels[i] : sums.best;
    if (rank < top_k && labels[i] > sums.best_in_top) {
      sums.best_in_top = labels[i];
    }
  }
  double sum_of_ratios = 0.0;
  for (const auto& [task, sums] : by_task) {
    if (sums.num_pairs > 0) {
      report.num_pairs += sums.num_pairs;
      ++report.num_tasks;
      sum_of_ratios += static_cast<double>(sums.best_in_top) / sums.best;
    }
  }
  report.best_of_top = report.num_tasks == 0 ? 0.0 : sum_of_ratios / report.num_tasks;
  return report;
}

}  // namespace tensorsmith
