// SPDX-License-Identifier: Apache-2.0
// Time of a short operation: median over batches, each long enough for the clock.
//
// Own design. Not here: contestants that must be interleaved (paired.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace tensorsmith::bench {

inline double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// ns per call of `operation`: the median of `batches` batches of at least `batch_ns`.
template <class Operation>
double median_call_ns(Operation&& operation, int batches = 15, double batch_ns = 2e6) {
  operation();
  double begin = now_ns();
  operation();
  const double once = std::max(now_ns() - begin, 1.0);
  const long calls = std::max(1L, static_cast<long>(batch_ns / once));
  std::vector<double> samples;
  for (int batch = 0; batch < batches; ++batch) {
    begin = now_ns();
    for (long call = 0; call < calls; ++call) {
      operation();
    }
    samples.push_back((now_ns() - begin) / static_cast<double>(calls));
  }
  std::nth_element(samples.begin(), samples.begin() + batches / 2, samples.end());
  return samples[static_cast<std::size_t>(batches / 2)];
}

}  // namespace tensorsmith::bench
