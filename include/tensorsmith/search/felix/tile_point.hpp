// SPDX-License-Identifier: Apache-2.0
// TilePoint: the tile lengths of a program as a point, whose coordinates are logarithms.
//
// Floor 7. Own design, for Felix, ch. 2.5 and 6.5. What else was decided of the program stays as it
// is. A coordinate per length, in octaves; the outermost length of a split is what the others leave
// of its extent. Not here: what is good about a point.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/felix/round_lengths.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith {

class TilePoint {
 public:
  /// Of the splits that the candidate's sketch left open and that divide an extent, or one of the
  /// rounder numbers above it that the space allows.
  TilePoint(const SearchSpace& space, const Candidate& candidate)
      : steps_(candidate.state.steps()), sketch_(candidate.sketch) {
    const std::size_t own = sketch_ < space.sketches().size()
                                ? space.sketches()[sketch_].steps().size()
                                : std::size_t{0};
    for (std::size_t at = 0; at < own && at < steps_.size(); ++at) {
      const SplitStep* split = std::get_if<SplitStep>(&steps_[at]);
      if (split == nullptr || split->extent <= 1 || !space.splits().is_open(sketch_, at)) {
        continue;
      }
      std::int64_t product = 1;
      for (const std::int64_t length : split->lengths) {
        product *= length > 0 ? length : 0;
      }
      const double rounding = space.splits().rounding_of(sketch_, at, split->extent);
      for (const std::int64_t root : space.splits().rounded_extents(split->extent, rounding)) {
        if (product > 0 && root % product == 0) {
          splits_.push_back(
              {at, root, size_, split->lengths.size(), space.splits().max_innermost(sketch_, at)});
          size_ += split->lengths.size();
          break;
        }
      }
    }
    for (const OpenSplit& split : splits_) {
      for (const std::int64_t length : lengths_of(split, steps_)) {
        start_.push_back(math::log2(static_cast<double>(length)));
      }
    }
  }

  std::size_t size() const { return size_; }
  std::uint32_t sketch() const { return sketch_; }
  /// Where the candidate stands.
  const std::vector<double>& start() const { return start_; }

  /// The steps with the lengths nearest to `point`.
  std::vector<Step> rounded(std::span<const double> point) const {
    std::vector<Step> steps = steps_;
    for (const OpenSplit& split : splits_) {
      const auto nearest = nearest_lengths(split.root, point.subspan(split.first, split.count), 1,
                                           split.max_innermost);
      if (!nearest.empty()) {
        LengthList& lengths = lengths_of(split, steps);
        for (std::size_t i = 0; i < split.count; ++i) {
          lengths[i] = nearest.front().lengths[i];
        }
      }
    }
    return steps;
  }

  /// One prime factor further up or down at coordinate `at` of `steps`, and by how many octaves.
  /// A factor comes from the outermost length, or from the longest other one where that is 1.
  std::optional<std::pair<std::vector<Step>, double>> neighbour(const std::vector<Step>& steps,
                                                                std::size_t at, bool up) const {
    const OpenSplit* split = find_item(splits_, [&](const OpenSplit& one) {
      return at >= one.first && at < one.first + one.count;
    });
    const std::size_t level = at - split->first;
    std::vector<Step> moved = steps;
    LengthList& lengths = lengths_of(*split, moved);
    std::int64_t factor = 1;
    if (up) {
      std::int64_t rest = split->root;
      std::size_t longest = level;
      for (std::size_t i = 0; i < split->count; ++i) {
        rest /= lengths[i];
        longest = i != level && (longest == level || lengths[i] > lengths[longest]) ? i : longest;
      }
      factor = least_prime(rest);
      if (factor == 1 && longest != level) {
        factor = least_prime(lengths[longest]);
        lengths[longest] /= factor;
      }
      lengths[level] *= factor;
    } else {
      factor = least_prime(lengths[level]);
      lengths[level] /= factor;
    }
    if (factor == 1 || lengths[split->count - 1] > split->max_innermost) {
      return std::nullopt;
    }
    return std::pair(std::move(moved), math::log2(static_cast<double>(factor)));
  }

  /// How far `point` is outside: lengths below 1, and products above the extent; its slope is added
  /// to `slope`.
  double violation(std::span<const double> point, std::span<double> slope) const {
    double sum = 0;
    for (const OpenSplit& split : splits_) {
      double total = -math::log2(static_cast<double>(split.root));
      for (std::size_t i = split.first; i < split.first + split.count; ++i) {
        total += point[i];
        if (point[i] < 0) {
          sum += point[i] * point[i];
          slope[i] += 2 * point[i];
        }
      }
      for (std::size_t i = split.first; total > 0 && i < split.first + split.count; ++i) {
        slope[i] += 2 * total;
      }
      sum += total > 0 ? total * total : 0;
    }
    return sum;
  }

 private:
  struct OpenSplit {
    std::size_t step;
    std::int64_t root;
    std::size_t first, count;  ///< coordinates
    std::int64_t max_innermost;
  };
  static LengthList& lengths_of(const OpenSplit& split, std::vector<Step>& steps) {
    return std::get<SplitStep>(steps[split.step]).lengths;
  }
  static std::int64_t least_prime(std::int64_t n) {
    for (std::int64_t p = 2; p * p <= n; ++p) {
      if (n % p == 0) {
        return p;
      }
    }
    return n;
  }

  std::vector<Step> steps_;
  std::uint32_t sketch_;
  std::vector<OpenSplit> splits_;
  std::vector<double> start_;
  std::size_t size_ = 0;
};

}  // namespace tensorsmith
