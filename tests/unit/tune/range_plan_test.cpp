// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/tune/range.hpp"

using namespace tensorsmith;

namespace {

/// Every way to make up that many rows.
double least(std::int64_t rows, const std::vector<std::int64_t>& sizes,
             const std::vector<double>& times) {
  if (rows == 0) {
    return 0;
  }
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] <= rows) {
      best = std::min(best, times[k] + least(rows - sizes[k], sizes, times));
    }
  }
  return best;
}

}  // namespace

TEST_CASE("a plan takes the least time of all ways, and its parts are all rows") {
  for (std::uint32_t number = 0; number < test::scaled(200); ++number) {
    INFO("plan " << number);
    CounterRng rng(test::seed(), 0x71, number);
    const auto last = static_cast<std::int64_t>(1 + rng.next_below(14));
    std::vector<std::int64_t> sizes;
    std::vector<double> times;
    for (std::int64_t size = 1; size <= last; ++size) {
      if (rng.next_below(3) == 0) {
        sizes.push_back(size);
        times.push_back(1 + rng.next_below(20));
      }
    }
    const RangePlan plan = plan_range(1, last, sizes, times);
    REQUIRE(plan.ns.size() == static_cast<std::size_t>(last) + 1);
    for (std::int64_t rows = 1; rows <= last; ++rows) {
      const double ns = plan.ns[static_cast<std::size_t>(rows)];
      CHECK(ns == least(rows, sizes, times));
      double sum = 0;
      std::int64_t left = rows;
      while (left > 0 && plan.next[static_cast<std::size_t>(left)] >= 0) {
        const auto k = static_cast<std::size_t>(plan.next[static_cast<std::size_t>(left)]);
        sum += times[k];
        left -= sizes[k];
      }
      CHECK((left == 0) == std::isfinite(ns));
      CHECK((left > 0 || sum == ns));
    }
    // What the plan says of itself, by its parts.
    std::vector<bool> is_used(sizes.size(), false);
    std::int64_t most = 0;
    std::size_t most_parts = 0;
    for (std::int64_t rows = 1; rows <= last && plan.has_all(); ++rows) {
      const std::vector<std::size_t> parts = plan.parts(rows);
      for (const std::size_t k : parts) {
        is_used[k] = true;
      }
      if (parts.size() > most_parts) {
        most = rows;
        most_parts = parts.size();
      }
    }
    if (plan.has_all()) {
      CHECK(plan.used() == is_used);
      CHECK(plan.rows_with_most_parts() == most);
    }
  }
}

TEST_CASE("a plan is worst where neighbours let expect less") {
  // 3 rows take two calls, of 10 and 12; between 12 and 14 lies 13.
  const WorstRows worst = worst_rows(plan_range(1, 4, {1, 2, 4}, std::vector<double>{10, 12, 14}));
  CHECK(worst.rows == 3);
  CHECK(worst.ratio == test::Approx(22.0 / 13));
  CHECK(worst_rows(plan_range(1, 3, {1, 2, 3}, std::vector<double>{1, 2, 3})).rows == 0);
  CHECK(std::isinf(worst_rows(plan_range(1, 5, {1, 4}, std::vector<double>{1, 2})).ratio));
  // Without any kernel below, nothing makes up 5 rows.
  const WorstRows none = worst_rows(plan_range(5, 6, {6}, std::vector<double>{1}));
  CHECK(none.rows == 5);
  CHECK(std::isinf(none.ratio));
}
