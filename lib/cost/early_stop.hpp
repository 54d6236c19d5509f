// SPDX-License-Identifier: Apache-2.0
// EarlyStop: when a training has gone on for long enough without a lower mean loss.
//
// Private to lib/cost. Pruner, ch. 4.4: the moving average of the losses of batches, looked at
// after every epoch.
#pragma once

#include <cstdint>

namespace tensorsmith {

class EarlyStop {
 public:
  explicit EarlyStop(std::uint32_t patience) : patience_(patience) {}

  void add_batch(double loss) {
    constexpr double kept = 0.95;
    mean_ = num_batches_++ == 0 ? loss : kept * mean_ + (1 - kept) * loss;
  }
  /// Whether another epoch is worth it, now that one more is over.
  bool goes_on_after_epoch() {
    if (num_epochs_ == 0 || mean_ < least_) {
      least_ = mean_;
      best_epoch_ = num_epochs_;
    }
    return num_epochs_++ < best_epoch_ + patience_;
  }
  double mean() const { return mean_; }

 private:
  std::uint32_t patience_, num_epochs_ = 0, best_epoch_ = 0;
  std::uint64_t num_batches_ = 0;
  double mean_ = 0, least_ = 0;
};

}  // namespace tensorsmith
