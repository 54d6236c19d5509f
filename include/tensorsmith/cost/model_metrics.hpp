// SPDX-License-Identifier: Apache-2.0
// Metrics of TenSet: how far scores are from labels, how well they order a task, and how fast a
// network would be with what they choose.
//
// Floor 6. Pruner, ch. 6.4. Labels are best time / time, in [0, 1]. Of equal numbers the earlier
// one counts as the higher. Not here: models, and the report of a search's rounds
// (cost/ranking.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

/// Positions from the largest value to the smallest.
inline std::vector<std::uint32_t> descending_order(std::span<const float> values) {
  std::vector<std::uint32_t> order(values.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  sort_items(order, [&](std::uint32_t a, std::uint32_t b) { return values[a] > values[b]; });
  return order;
}

inline double mean_square_error(std::span<const float> scores, std::span<const float> labels) {
  TENSORSMITH_ASSERT(scores.size() == labels.size(), "one label per score");
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double difference = static_cast<double>(scores[i]) - labels[i];
    sum += difference * difference;
  }
  return scores.empty() ? 0 : sum / static_cast<double>(scores.size());
}

/// The share of the labels' variance that the scores explain; 1 where the labels are all alike.
inline double r_squared(std::span<const float> scores, std::span<const float> labels) {
  double mean = 0, squares = 0;
  for (const float label : labels) {
    mean += label / static_cast<double>(labels.size());
  }
  for (const float label : labels) {
    squares += (label - mean) * (label - mean);
  }
  const double error = mean_square_error(scores, labels) * static_cast<double>(labels.size());
  return squares < 1e-6 ? 1 : 1 - error / squares;
}

/// Mean of |label - score| / label; infinite where a label is 0.
inline double mean_relative_error(std::span<const float> scores, std::span<const float> labels) {
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sum += math::fabs((static_cast<double>(labels[i]) - scores[i]) / labels[i]);
  }
  return scores.empty() ? 0 : sum / static_cast<double>(scores.size());
}

/// The share of pairs i < j of which both say alike whether i is better; 0.5 without pairs.
inline double pair_accuracy(std::span<const float> scores, std::span<const float> labels) {
  const std::size_t n = scores.size();
  std::uint64_t num_alike = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      num_alike += (scores[i] > scores[j]) == (labels[i] > labels[j]) ? 1U : 0U;
    }
  }
  return n < 2 ? 0.5 : static_cast<double>(num_alike) / (0.5 * static_cast<double>(n * (n - 1)));
}

/// How many of the best `k` by score are among the best `k` by label, by k (even if there are
/// fewer programs).
inline double top_recall(std::span<const float> scores, std::span<const float> labels,
                         std::size_t k) {
  const std::vector<std::uint32_t> guessed = descending_order(scores);
  const std::vector<std::uint32_t> best = descending_order(labels);
  const std::size_t most = k < guessed.size() ? k : guessed.size();
  std::size_t num_common = 0;
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t j = 0; j < most; ++j) {
      num_common += guessed[i] == best[j] ? 1U : 0U;
    }
  }
  return static_cast<double>(num_common) / static_cast<double>(k);
}

/// The best label found within 1, 2, .. k programs by falling score, over the best of all: the mean
/// of these. 0 where no label is above 0.
inline double peak_score(std::span<const float> scores, std::span<const float> labels,
                         std::size_t k) {
  const std::vector<std::uint32_t> order = descending_order(scores);
  const std::size_t most = k < order.size() ? k : order.size();
  double best = 0, reached = 0, sum = 0;
  for (const float label : labels) {
    best = label > best ? static_cast<double>(label) : best;
  }
  for (std::size_t i = 0; i < most; ++i) {
    reached = labels[order[i]] > reached ? static_cast<double>(labels[order[i]]) : reached;
    sum += best > 0 ? reached / best : 0;
  }
  return most == 0 ? 0 : sum / static_cast<double>(most);
}

/// Programs of one task of a network.
struct ScoredTask {
  double weight = 1;   ///< how often the network calls it
  double best_ns = 0;  ///< the least time of all its programs, label 1
  std::vector<float> scores, labels;
};

namespace detail {

/// The network's time with the best of all, by its time with `chosen(task)`, a label.
template <class Chosen>
double network_share(std::span<const ScoredTask> tasks, const Chosen& chosen) {
  constexpr double least_label = 1e-5;
  double best = 0, reached = 0;
  for (const ScoredTask& task : tasks) {
    if (!task.labels.empty()) {
      const double label = chosen(task);
      best += task.weight * task.best_ns;
      reached += task.weight * task.best_ns / (label > least_label ? label : least_label);
    }
  }
  return reached > 0 ? best / reached : 0;
}

}  // namespace detail

/// Top-k: every task takes the fastest of its `k` programs with the highest scores.
inline double network_top_score(std::span<const ScoredTask> tasks, std::size_t k) {
  return detail::network_share(tasks, [k](const ScoredTask& task) {
    const std::vector<std::uint32_t> order = descending_order(task.scores);
    double best = 0;
    for (std::size_t i = 0; i < order.size() && i < k; ++i) {
      best = task.labels[order[i]] > best ? static_cast<double>(task.labels[order[i]]) : best;
    }
    return best;
  });
}

/// Best-k of a draft: every task takes the k-th fastest of the `draft_size` programs with the
/// highest scores.
inline double network_draft_score(std::span<const ScoredTask> tasks, std::size_t draft_size,
                                  std::size_t k) {
  TENSORSMITH_ASSERT(k > 0 && draft_size > 0, "counted from 1");
  return detail::network_share(tasks, [&](const ScoredTask& task) {
    std::vector<float> drafted;
    for (const std::uint32_t at : descending_order(task.scores)) {
      if (drafted.size() < draft_size) {
        drafted.push_back(task.labels[at]);
      }
    }
    sort_items(drafted, [](float a, float b) { return a > b; });
    return static_cast<double>(drafted[(k < drafted.size() ? k : drafted.size()) - 1]);
  });
}

/// All metrics of several tasks: means that every task has its number of programs as weight in.
struct MetricsReport {
  static constexpr std::array<std::uint32_t, 5> tops{1, 3, 5, 10, 30};

  std::size_t num_tasks = 0, num_programs = 0;
  double rmse = 0;  ///< root of the mean of squares
  double r_squared = 0, mean_relative_error = 0, pair_accuracy = 0;
  std::array<double, tops.size()> recall{}, peak{};
};

inline MetricsReport metrics_report(std::span<const ScoredTask> tasks) {
  MetricsReport report;
  for (const ScoredTask& task : tasks) {
    report.num_tasks += task.labels.empty() ? 0U : 1U;
    report.num_programs += task.labels.size();
  }
  for (const ScoredTask& task : tasks) {
    if (task.labels.empty()) {
      continue;
    }
    const double share =
        static_cast<double>(task.labels.size()) / static_cast<double>(report.num_programs);
    report.rmse += share * mean_square_error(task.scores, task.labels);
    report.r_squared += share * r_squared(task.scores, task.labels);
    report.mean_relative_error += share * mean_relative_error(task.scores, task.labels);
    report.pair_accuracy += share * pair_accuracy(task.scores, task.labels);
    for (std::size_t i = 0; i < MetricsReport::tops.size(); ++i) {
      report.recall[i] += share * top_recall(task.scores, task.labels, MetricsReport::tops[i]);
      report.peak[i] += share * peak_score(task.scores, task.labels, MetricsReport::tops[i]);
    }
  }
  report.rmse = math::sqrt(report.rmse);
  return report;
}

}  // namespace tensorsmith
