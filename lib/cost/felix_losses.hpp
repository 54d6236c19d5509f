// SPDX-License-Identifier: Apache-2.0
// Losses of Felix's network over one list of programs, and their gradients.
//
// Internal to lib/cost. Felix, ch. 5.1.
#pragma once

#include <span>

#include "tensorsmith/cost/felix_model.hpp"

namespace tensorsmith {

/// Labels are throughputs, above 0; `unit`: of labels under FelixLoss::square. Writes
/// d loss / d scores into `gradient`, which is as long as both.
double felix_loss(FelixLoss loss, double unit, std::span<const float> scores,
                  std::span<const double> labels, std::span<float> gradient);

}  // namespace tensorsmith
