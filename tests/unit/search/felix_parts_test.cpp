// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/search/felix/choose_points.hpp"
#include "tensorsmith/search/felix/descent.hpp"
#include "tensorsmith/search/felix/round_lengths.hpp"
#include "tensorsmith/search/task_scheduler.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

using tensorsmith::test::Approx;

double octaves_off(const std::vector<std::int64_t>& lengths, const std::vector<double>& wanted) {
  double sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double off = std::log2(static_cast<double>(lengths[i])) - wanted[i];
    sum += off * off;
  }
  return sum;
}

}  // namespace

TEST_CASE("rounded lengths are the nearest of all that are legal", "[search][felix]") {
  CounterRng rng(5, 1, 0, 0);
  for (const std::int64_t extent : {1, 22, 48, 64, 97, 1000, 3465, 11008}) {
    for (int draw = 0; draw < 5; ++draw) {
      std::vector<double> wanted;
      for (int i = 0; i < 3; ++i) {
        wanted.push_back(rng.next_double() * 5 - 0.5);
      }
      const std::int64_t most = draw % 2 == 0 ? INT64_MAX : 8;
      std::vector<double> all;
      for (const auto& lengths : factorizations(extent, 3, most)) {
        all.push_back(octaves_off(lengths, wanted));
      }
      std::sort(all.begin(), all.end());
      const auto nearest = nearest_lengths(extent, wanted, 6, most);
      INFO(extent);
      REQUIRE(nearest.size() == std::min<std::size_t>(6, all.size()));
      for (std::size_t i = 0; i < nearest.size(); ++i) {
        std::int64_t product = 1;
        for (const std::int64_t length : nearest[i].lengths) {
          product *= length;
        }
        CHECK(extent % product == 0);
        CHECK(nearest[i].lengths.back() <= most);
        CHECK(octaves_off(nearest[i].lengths, wanted) == Approx(all[i]).margin(1e-9));
      }
    }
  }
  const std::vector<std::int32_t> unroll{0, 16, 64, 512};
  CHECK(nearest_entry(unroll, -0.7) == 0);
  CHECK(nearest_entry(unroll, 4.9) == 1);
  CHECK(nearest_entry(unroll, 7.6) == 3);
}

TEST_CASE("the pull of constraints is five times that of the score", "[search][felix]") {
  std::vector<double> slope{3, 4};
  mix_penalty(slope, std::vector<double>{0, 2}, 5);
  CHECK(slope == std::vector<double>{3, 29});  // conformance test C12
  slope = {3, 4};
  mix_penalty(slope, std::vector<double>{0, 0}, 5);
  CHECK(slope == std::vector<double>{3, 4});
  slope = {0, 0};
  mix_penalty(slope, std::vector<double>{0, 2}, 5);
  CHECK(slope == std::vector<double>{0, 2});
}

TEST_CASE("steps and rates begin anew in every round", "[search][felix]") {
  const DescentOptions options;  // conformance test C14, with defect D4 mended
  CHECK(DescentOptions::milestone_of(128, options.milestone) == 38);
  CHECK(options.steps_of_round(0) == 128);
  CHECK(options.steps_of_round(1) == 32);
  CHECK(options.rate_at(37, 128) == 0.5);
  CHECK(options.rate_at(38, 128) == 0.1);
  CHECK(options.rate_at(0, 32) == 0.5);
}

TEST_CASE("descent finds the foot of a bowl from anywhere", "[search][felix]") {
  CounterRng rng(9, 0, 0, 0);
  std::vector<double> points(24), foot(24);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = rng.next_double() * 10;
    foot[i] = rng.next_double() * 10;
  }
  DescentAdam adam(points.size());
  const DescentOptions options;
  for (std::uint32_t step = 0; step < 256; ++step) {
    std::vector<double> slopes(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      slopes[i] = 2 * (points[i] - foot[i]);
    }
    slopes[0] = std::nan("");  // one coordinate has no slope: the others move all the same
    adam.step(points, slopes, options.rate_at(step, 256));
  }
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(points[i] == Approx(foot[i]).margin(0.2));
  }
  CHECK(std::isfinite(points[0]));
}

TEST_CASE("a task that stands still is over", "[search][felix]") {
  SearchProgress progress(2, 0.01);
  progress.add_round(100);
  progress.add_round(100.5);  // less than a hundredth
  CHECK(!progress.is_over());
  progress.add_round(120);
  progress.add_round(0);
  CHECK(!progress.is_over());
  progress.add_round(0);
  CHECK(progress.is_over());  // D5: rounds without a program end it, too
  CHECK(progress.best() == 120);
}

TEST_CASE("the next task is the one from which most is expected", "[search][felix]") {
  TaskSchedulerOptions options;  // conformance test C13, in microseconds
  TaskScheduler scheduler({{1, 2, ""}, {1, 1, ""}}, options);
  for (const double time : {150.0, 130.0, 110.0, 100.0}) {
    scheduler.record(0, time, 64);
  }
  scheduler.record(1, 300, 64);
  CHECK(scheduler.gradient(0) == Approx(-46.667).epsilon(1e-4));
  CHECK(scheduler.gradient(1) == Approx(-240).epsilon(1e-4));
  CHECK(scheduler.next() == 1);
}

TEST_CASE("a point keeps its prediction", "[search][felix]") {
  // Conformance test C16; the released code (D1) ranks the third point first, with a prediction
  // of 9.
  const auto kept = ranked_points({{0, {1}, 5, true}, {0, {2}, 9, false}, {0, {3}, 1, true}});
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].values == std::vector<std::int32_t>{1});
  CHECK(kept[0].prediction == 5);
  CHECK(kept[1].values == std::vector<std::int32_t>{3});
  CHECK(kept[1].prediction == 1);
  CHECK(ranked_points({{0, {1}, std::nan(""), true}}).empty());
}

TEST_CASE("a point is measured once, in whatever round", "[search][felix]") {
  SeenPoints seen;  // conformance test C17; the released code has D2 and D3
  CHECK(seen.claim({0, {4, 8}, 1, true}));
  CHECK(!seen.claim({0, {4, 8}, 2, true}));
  CHECK(seen.claim({1, {4, 8}, 1, true}));
  CHECK(seen.claim({0, {48}, 1, true}));
}

TEST_CASE("sketches share a batch by what they promise", "[search][felix]") {
  const std::vector<double> best{-5, -1, -math::infinity};
  const std::vector<std::size_t> available{100, 100, 0};
  const auto shares = sketch_shares(best, available, 16, 2, 1.0);
  CHECK(shares[0] == 2);  // D30: no sketch is given up unmeasured
  CHECK(shares[1] == 14);
  CHECK(shares[2] == 0);
  CHECK(sketch_shares(best, std::vector<std::size_t>{3, 2, 0}, 16, 2, 1.0) ==
        std::vector<std::size_t>{3, 2, 0});
  CHECK(sketch_shares(std::vector<double>{0, 0}, std::vector<std::size_t>{50, 50}, 10, 0, 1.0) ==
        std::vector<std::size_t>{5, 5});
}

}  // namespace tensorsmith
