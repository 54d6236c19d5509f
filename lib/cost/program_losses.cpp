// SPDX-License-Identifier: Apache-2.0
#include "program_losses.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensorsmith/cost/ranking.hpp"

namespace tensorsmith {
namespace {

/// The mean over all ordered pairs, of which those with i < j count. Probabilities are f32: one
/// that rounds to 0 or 1 has no slope, and no logarithm is below -100.
double rank_net(std::span<const float> scores, std::span<const float> labels,
                std::span<float> gradient) {
  constexpr double least_log = -100;
  const std::size_t n = scores.size();
  const double share = 1.0 / (static_cast<double>(n) * static_cast<double>(n));
  double loss = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const float p = 1.0F / (1.0F + std::exp(scores[j] - scores[i]));
      const bool is_better = labels[i] > labels[j];
      loss -= share * std::max(least_log, std::log(static_cast<double>(is_better ? p : 1.0F - p)));
      if (p * (1.0F - p) > 0.0F) {
        const auto push = static_cast<float>(share * (p - (is_better ? 1.0 : 0.0)));
        gradient[i] += push;
        gradient[j] -= push;
      }
    }
  }
  return loss;
}

std::vector<double> softmax(std::span<const float> values) {
  const double most = *std::max_element(values.begin(), values.end());
  std::vector<double> shares;
  double sum = 0;
  for (const float value : values) {
    shares.push_back(std::exp(value - most));
    sum += shares.back();
  }
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

double list_net(std::span<const float> scores, std::span<const float> labels,
                std::span<float> gradient) {
  constexpr double tiny = 1e-10;
  const std::vector<double> ours = softmax(scores), wanted = softmax(labels);
  double loss = 0, mean = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    loss -= wanted[i] * std::log(ours[i] + tiny);
    mean -= wanted[i] * ours[i] / (ours[i] + tiny);
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    gradient[i] = static_cast<float>(-wanted[i] * ours[i] / (ours[i] + tiny) - ours[i] * mean);
  }
  return loss;
}

double mean_square(std::span<const float> scores, std::span<const float> labels,
                   std::span<float> gradient) {
  const auto n = static_cast<double>(scores.size());
  double loss = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double difference = static_cast<double>(scores[i]) - labels[i];
    loss += difference * difference / n;
    gradient[i] = static_cast<float>(2 * difference / n);
  }
  return loss;
}

}  // namespace

double program_loss(ProgramLoss loss, std::span<const float> scores, std::span<const float> labels,
                    std::span<float> gradient) {
  constexpr double least_sigmoid = 1e-10;
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  if (scores.empty()) {
    return 0;
  }
  switch (loss) {
  case ProgramLoss::lambda_rank:
    return lambda_rank_loss(scores, labels, gradient, least_sigmoid);
  case ProgramLoss::rank_net:
    return rank_net(scores, labels, gradient);
  case ProgramLoss::list_net:
    return list_net(scores, labels, gradient);
  case ProgramLoss::mean_square:
    return mean_square(scores, labels, gradient);
  }
  return 0;
}

}  // namespace tensorsmith
