// SPDX-License-Identifier: Apache-2.0
// Polytopes of logarithms: projection, and points that reach all of it.
#include "tensorsmith/felix/log_polytope.hpp"

#include <vector>

#include "support/catch.hpp"

namespace tensorsmith::felix::test {
namespace {

LogPolytope random_polytope(CounterRng& rng, std::size_t size) {
  LogPolytope polytope(size);
  for (std::uint32_t k = 1 + rng.next_below(4); k > 0; --k) {
    std::vector<double> slopes(size, 0);
    for (double& slope : slopes) {
      slope = rng.next_below(3) == 0 ? 0 : rng.next_below(3);
    }
    polytope.require(std::move(slopes), 1 + 9 * rng.next_double());
  }
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> slopes(size, 0);
    slopes[i] = 1;
    polytope.require(std::move(slopes), 12);
  }
  return polytope;
}

}  // namespace

TEST_CASE("points of a polytope satisfy all half-spaces, and none is the origin", "[felix]") {
  CounterRng rng(90);
  for (int i = 0; i < 20; ++i) {
    const std::size_t size = 1 + rng.next_below(8);
    LogPolytope polytope = random_polytope(rng, size);
    if (i % 2 == 1) {  // the origin is outside
      polytope.require(std::vector<double>(size, -1), -0.5);
    }
    const auto points = polytope.draw(16, rng);
    REQUIRE(points.size() == 16);
    for (const auto& point : points) {
      CHECK(polytope.contains(point, 1e-5));
      double sum = 0;
      for (const double x : point) {
        sum += x;
      }
      CHECK(sum > 1e-9);
    }
  }
}

TEST_CASE("points are spread as a uniform distribution is", "[felix]") {
  // Of the simplex x1 + ... + xn <= 6 every coordinate has the mean 6 / (n + 1).
  CounterRng rng(91);
  constexpr std::size_t size = 4, count = 2000;
  LogPolytope polytope(size);
  polytope.require(std::vector<double>(size, 1), 6);
  const auto points = polytope.draw(count, rng);
  REQUIRE(points.size() == count);
  for (std::size_t i = 0; i < size; ++i) {
    double mean = 0;
    for (const auto& point : points) {
      mean += point[i] / count;
    }
    CHECK(mean == Approx(6.0 / (size + 1)).margin(0.12));
  }
}

TEST_CASE("projection finds the nearest point", "[felix]") {
  CounterRng rng(92);
  for (int i = 0; i < 20; ++i) {
    const std::size_t size = 2 + rng.next_below(4);
    const LogPolytope polytope = random_polytope(rng, size);
    std::vector<double> outside(size);
    for (double& x : outside) {
      x = 16 * rng.next_double() - 3;
    }
    const auto nearest = polytope.project(outside);
    REQUIRE(nearest.has_value());
    CHECK(polytope.contains(*nearest));
    const auto square = [&](const std::vector<double>& point) {
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k) {
        sum += (point[k] - outside[k]) * (point[k] - outside[k]);
      }
      return sum;
    };
    for (const auto& other : polytope.draw(50, rng)) {
      CHECK(square(*nearest) <= square(other) + 1e-6);
    }
    if (polytope.contains(outside)) {
      CHECK(square(*nearest) < 1e-12);
    }
  }
}

TEST_CASE("an empty polytope has no points, and rejected ones do not come back", "[felix]") {
  CounterRng rng(93);
  LogPolytope empty(2);
  empty.require({1, 1}, -1);
  CHECK_FALSE(empty.project({0, 0}).has_value());
  CHECK(empty.draw(3, rng).empty());
  LogPolytope square(2);
  square.require({1, 0}, 4);
  square.require({0, 1}, 4);
  const auto above = [](const std::vector<double>& point) { return point[0] > point[1]; };
  const auto points = square.draw(20, rng, above);
  REQUIRE(points.size() == 20);
  for (const auto& point : points) {
    CHECK(above(point));
  }
  CHECK(square.draw(3, rng, [](const auto&) { return false; }).empty());
}

}  // namespace tensorsmith::felix::test
