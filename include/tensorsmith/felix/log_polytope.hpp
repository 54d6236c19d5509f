// SPDX-License-Identifier: Apache-2.0
// LogPolytope: where logarithms of sizes may be, as half-spaces; points in it at random.
//
// Floor 6.5. Felix, ch. 6.3, repaired (D32): directions are isotropic, so all of it is reached;
// what is not linear is given as a test and rejects. "The product of the lengths of a split divides
// its extent" is relaxed to a sum that is at most the logarithm of the extent, for any extent: no
// primes are needed. Not here: which half-spaces a space of variables has (space_formulas.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::felix {

class LogPolytope {
 public:
  using Point = std::vector<double>;
  struct HalfSpace {
    std::vector<double> slopes;  ///< by variable
    double bound;                ///< slopes * point <= bound
  };

  /// Every coordinate is at least 0.
  explicit LogPolytope(std::size_t num_variables) : size_(num_variables) {
    for (std::size_t i = 0; i < num_variables; ++i) {
      HalfSpace not_negative{std::vector<double>(num_variables, 0), 0};
      not_negative.slopes[i] = -1;
      half_spaces_.push_back(std::move(not_negative));
    }
  }
  void require(std::vector<double> slopes, double bound) {
    TENSORSMITH_ASSERT(slopes.size() == size_, "a half-space of other variables");
    half_spaces_.push_back({std::move(slopes), bound});
  }

  std::size_t num_variables() const { return size_; }
  const std::vector<HalfSpace>& half_spaces() const { return half_spaces_; }
  bool contains(const Point& point, double tolerance = 1e-9) const {
    return all_items(half_spaces_, [&](const HalfSpace& half) {
      return dot(half.slopes, point) <= half.bound + tolerance;
    });
  }

  /// The nearest point of the polytope (Dykstra 1983), as near as the rounds allow; it is then
  /// pulled to satisfy every half-space. Nothing if that fails: the polytope is empty, or as good
  /// as.
  std::optional<Point> project(Point point) const {
    std::vector<double> corrections(half_spaces_.size(), 0);  // multiples of the slopes
    for (int round = 0; round < max_rounds; ++round) {
      double moved = 0;
      for (std::size_t h = 0; h < half_spaces_.size(); ++h) {
        const HalfSpace& half = half_spaces_[h];
        const double square = dot(half.slopes, half.slopes);
        if (square == 0) {
          continue;
        }
        const double over = (dot(half.slopes, point) - half.bound) / square + corrections[h];
        const double next = over > 0 ? over : 0;
        add(point, half.slopes, corrections[h] - next);
        moved += math::fabs(next - corrections[h]) * math::sqrt(square);
        corrections[h] = next;
      }
      if (moved < 1e-12 && round > 0) {
        break;
      }
    }
    for (int round = 0; round < max_rounds && !contains(point); ++round) {
      for (const HalfSpace& half : half_spaces_) {
        const double over = dot(half.slopes, point) - half.bound;
        const double square = dot(half.slopes, half.slopes);
        if (over > 0 && square > 0) {
          add(point, half.slopes, -(over + 1e-10) / square);
        }
      }
    }
    return contains(point) ? std::optional<Point>(std::move(point)) : std::nullopt;
  }

  /// `count` points, near to uniform: each ends a walk of hit-and-run of its own (Smith 1984).
  /// `accepts(point)` is what is not linear; if nothing is accepted for long, fewer come back.
  template <class Accepts>
  std::vector<Point> draw(std::size_t count, CounterRng& rng, const Accepts& accepts) const {
    std::vector<Point> found;
    const std::optional<Point> start = inner_point();
    if (!start || size_ == 0) {
      return found;
    }
    const std::size_t walk = 4 * size_ + 16;
    for (std::size_t tries = 0; found.size() < count && tries < 20 * count; ++tries) {
      Point point = *start;
      for (std::size_t step = 0; step < walk; ++step) {
        move(point, rng);
      }
      if (accepts(point)) {
        found.push_back(std::move(point));
      }
    }
    return found;
  }
  std::vector<Point> draw(std::size_t count, CounterRng& rng) const {
    return draw(count, rng, [](const Point&) { return true; });
  }

 private:
  static constexpr int max_rounds = 2000;

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += a[i] * b[i];
    }
    return sum;
  }
  static void add(Point& point, const std::vector<double>& direction, double length) {
    for (std::size_t i = 0; i < point.size(); ++i) {
      point[i] += length * direction[i];
    }
  }
  /// From far inside and from outside, halfway between two projections.
  std::optional<Point> inner_point() const {
    const std::optional<Point> low = project(Point(size_, 0));
    const std::optional<Point> high = project(Point(size_, 64));
    if (!low || !high) {
      return low ? low : high;
    }
    Point middle(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      middle[i] = ((*low)[i] + (*high)[i]) / 2;
    }
    return contains(middle) ? middle : *low;
  }
  /// To a uniform point of the line through `point` in a random direction.
  void move(Point& point, CounterRng& rng) const {
    Point direction(size_);
    for (double& part : direction) {  // normal by the sum of uniforms: near enough for a direction
      for (int i = 0; i < 6; ++i) {
        part += rng.next_double() - 0.5;
      }
    }
    double low = -1e6, high = 1e6;
    for (const HalfSpace& half : half_spaces_) {
      const double speed = dot(half.slopes, direction);
      const double room = half.bound - dot(half.slopes, point);
      if (speed > 1e-12) {
        high = math::fmin(high, math::fmax(room, 0.0) / speed);
      } else if (speed < -1e-12) {
        low = math::fmax(low, math::fmax(room, 0.0) / speed);
      }
    }
    add(point, direction, low + (high - low) * rng.next_double());
  }

  std::size_t size_;
  std::vector<HalfSpace> half_spaces_;
};

}  // namespace tensorsmith::felix
