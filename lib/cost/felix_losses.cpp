// SPDX-License-Identifier: Apache-2.0
#include "felix_losses.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "program_losses.hpp"

namespace tensorsmith {
namespace {

/// Scores beyond the limits have no slope.
double clipped_rank(std::span<const float> scores, std::span<const float> labels,
                    std::span<float> gradient) {
  constexpr float most = 10;
  std::vector<float> clipped;
  for (const float score : scores) {
    clipped.push_back(std::clamp(score, -most, most));
  }
  const double loss = program_loss(ProgramLoss::rank_net, clipped, labels, gradient);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    gradient[i] = std::abs(scores[i]) > most ? 0.0F : gradient[i];
  }
  return loss;
}

}  // namespace

double felix_loss(FelixLoss loss, double unit, std::span<const float> scores,
                  std::span<const double> labels, std::span<float> gradient) {
  std::vector<float> targets;
  for (const double label : labels) {
    targets.push_back(static_cast<float>(loss == FelixLoss::log_square ? std::log(label)
                                         : loss == FelixLoss::square   ? label / unit
                                                                       : label));
  }
  return loss == FelixLoss::rank
             ? clipped_rank(scores, targets, gradient)
             : program_loss(ProgramLoss::mean_square, scores, targets, gradient);
}

}  // namespace tensorsmith
