// SPDX-License-Identifier: Apache-2.0
// Losses of one list of programs and their gradients: LambdaRank, RankNet, ListNet, mean square.
//
// Internal to lib/cost. Pruner, ch. 4.3 and 6.3; with the clamps of the reference, which decide
// where scores are far apart.
#pragma once

#include <cstdint>
#include <span>

namespace tensorsmith {

enum class ProgramLoss : std::uint8_t { lambda_rank, rank_net, list_net, mean_square };

/// Writes d loss / d scores into `gradient`, which is as long as both.
double program_loss(ProgramLoss loss, std::span<const float> scores, std::span<const float> labels,
                    std::span<float> gradient);

}  // namespace tensorsmith
