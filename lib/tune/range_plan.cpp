// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "tensorsmith/tune/range.hpp"

namespace tensorsmith {

RangePlan plan_range(std::int64_t first, std::int64_t last, std::vector<std::int64_t> sizes,
                     std::span<const double> times) {
  RangePlan plan;
  plan.first = first;
  plan.last = last;
  const auto count = static_cast<std::size_t>(last) + 1;
  plan.next.assign(count, -1);
  plan.ns.assign(count, std::numeric_limits<double>::infinity());
  plan.ns[0] = 0;
  for (std::size_t rows = 1; rows < count; ++rows) {
    // The largest first: it comes last here, and wins where two ways take the same time.
    for (std::size_t k = 0; k < sizes.size() && sizes[k] <= static_cast<std::int64_t>(rows); ++k) {
      const double ns = times[k] + plan.ns[rows - static_cast<std::size_t>(sizes[k])];
      if (ns <= plan.ns[rows] && ns < std::numeric_limits<double>::infinity()) {
        plan.ns[rows] = ns;
        plan.next[rows] = static_cast<std::int32_t>(k);
      }
    }
  }
  plan.sizes = std::move(sizes);
  return plan;
}

bool RangePlan::has_all() const {
  return std::none_of(next.begin() + first, next.end(), [](std::int32_t k) { return k < 0; });
}

std::vector<std::size_t> RangePlan::parts(std::int64_t rows) const {
  std::vector<std::size_t> found;
  while (rows > 0) {
    found.push_back(static_cast<std::size_t>(next[static_cast<std::size_t>(rows)]));
    rows -= sizes[found.back()];
  }
  return found;
}

std::vector<bool> RangePlan::used() const {
  std::vector<bool> is_used(sizes.size(), false), is_left(next.size(), false);
  for (auto rows = static_cast<std::size_t>(last); rows > 0; --rows) {
    if (next[rows] >= 0 && (static_cast<std::int64_t>(rows) >= first || is_left[rows])) {
      const auto k = static_cast<std::size_t>(next[rows]);
      is_used[k] = true;
      is_left[rows - static_cast<std::size_t>(sizes[k])] = true;
    }
  }
  return is_used;
}

std::int64_t RangePlan::rows_with_most_parts() const {
  std::vector<std::int64_t> counts(next.size(), 0);
  for (std::size_t rows = 1; rows < next.size(); ++rows) {
    if (next[rows] >= 0) {
      const std::int64_t size = sizes[static_cast<std::size_t>(next[rows])];
      counts[rows] = 1 + counts[rows - static_cast<std::size_t>(size)];
    }
  }
  return std::max_element(counts.begin() + first, counts.end()) - counts.begin();
}

WorstRows worst_rows(const RangePlan& plan) {
  const auto ns = [&](std::int64_t rows) { return plan.ns[static_cast<std::size_t>(rows)]; };
  WorstRows worst;
  auto larger = plan.sizes.begin();
  for (std::int64_t rows = plan.first; rows <= plan.last; ++rows) {
    larger =
        std::find_if(larger, plan.sizes.end(), [&](std::int64_t size) { return size >= rows; });
    if (larger != plan.sizes.end() && *larger == rows) {
      continue;
    }
    // Without a smaller kernel the larger one says what there is to expect; nothing does beyond
    // all.
    double expected = 0;
    if (larger != plan.sizes.end() && larger != plan.sizes.begin()) {
      const std::int64_t low = *std::prev(larger), high = *larger;
      expected = ns(low) + (ns(high) - ns(low)) * static_cast<double>(rows - low) /
                               static_cast<double>(high - low);
    } else if (larger != plan.sizes.end()) {
      expected = ns(*larger);
    }
    const double ratio =
        expected > 0 ? ns(rows) / expected : std::numeric_limits<double>::infinity();
    if (ratio > worst.ratio || worst.rows == 0) {
      worst = {rows, ratio};
    }
  }
  return worst;
}

}  // namespace tensorsmith
