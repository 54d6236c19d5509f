// SPDX-License-Identifier: Apache-2.0
// TilePoint: the tile lengths of a program as a point, whose coordinates are logarithms.
//
// Floor 7. Own design, for Felix, ch. 2.5 and 6.5. What else was decided of the program stays as it
// is. A coordinate per length, in octaves; the outermost length of a split is what the others leave
// of its extent. A limit of unrolling is a coordinate, too, the logarithm of one more than it: it
// may be 0. Not here: what is good about a point.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/hints.hpp"
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
      add_split(space, at);
    }
    for (const std::int32_t limit : space.options().auto_unroll_max_steps) {
      limits_.push_back(limit + 1);
    }
    sort_items(limits_);
    for (std::size_t at = own; at < steps_.size(); ++at) {
      const std::optional<std::int32_t> limit = limit_of(steps_[at]);
      if (limit && has_item(limits_, *limit + 1)) {
        unrolls_.push_back({at, size_++});
      }
    }
    for (const std::int64_t value : values_of(steps_)) {
      start_.push_back(math::log2(static_cast<double>(value)));
    }
  }

  std::size_t size() const { return size_; }
  std::uint32_t sketch() const { return sketch_; }
  /// Where the candidate stands.
  const std::vector<double>& start() const { return start_; }
  /// By step: whether coordinates say what it does.
  std::vector<bool> open_steps() const {
    std::vector<bool> open(steps_.size(), false);
    for (const OpenSplit& split : splits_) {
      open[split.step] = true;
    }
    for (const OpenUnroll& unroll : unrolls_) {
      open[unroll.step] = true;
    }
    return open;
  }
  /// The steps at the origin: points of one form differ in their coordinates alone.
  std::vector<Step> form() const {
    std::vector<Step> steps = steps_;
    for (Step& step : steps) {
      if (SplitStep* split = std::get_if<SplitStep>(&step)) {
        split->extent = 0;  // written down when the step was made
      }
    }
    for (const OpenSplit& split : splits_) {
      for (std::int64_t& length : lengths_of(split, steps)) {
        length = 1;
      }
    }
    for (const OpenUnroll& unroll : unrolls_) {
      set_limit(steps[unroll.step], 0);
    }
    return steps;
  }
  /// visit(step, first coordinate, how many, the highest sum of them, that of the last one): in
  /// octaves, in the order of coordinates. None is below 0.
  template <class Visit>
  void each_group(const Visit& visit) const {
    for (const OpenSplit& split : splits_) {
      visit(split.step, split.first, split.count, math::log2(static_cast<double>(split.root)),
            math::log2(static_cast<double>(split.max_innermost)));
    }
    for (const OpenUnroll& unroll : unrolls_) {
      const double highest = math::log2(static_cast<double>(limits_.back()));
      visit(unroll.step, unroll.at, std::size_t{1}, highest, highest);
    }
  }

  /// The legal values nearest to `point`, by coordinate: lengths, and one more than limits.
  std::vector<std::int64_t> rounded_values(std::span<const double> point) const {
    std::vector<std::int64_t> values;
    for (const OpenSplit& split : splits_) {
      const auto nearest = nearest_lengths(split.root, point.subspan(split.first, split.count), 1,
                                           split.max_innermost);
      for (std::size_t i = 0; i < split.count; ++i) {
        values.push_back(nearest.empty() ? std::get<SplitStep>(steps_[split.step]).lengths[i]
                                         : nearest.front().lengths[i]);
      }
    }
    for (const OpenUnroll& unroll : unrolls_) {
      values.push_back(limits_[nearest_entry(limits_, point[unroll.at])]);
    }
    return values;
  }
  /// The same of steps of the form.
  std::vector<std::int64_t> values_of(std::vector<Step> steps) const {
    std::vector<std::int64_t> values;
    for (const OpenSplit& split : splits_) {
      for (const std::int64_t length : lengths_of(split, steps)) {
        values.push_back(length);
      }
    }
    for (const OpenUnroll& unroll : unrolls_) {
      values.push_back(std::int64_t{*limit_of(steps[unroll.step])} + 1);
    }
    return values;
  }
  std::vector<Step> with_values(std::span<const std::int64_t> values) const {
    std::vector<Step> steps = steps_;
    for (const OpenSplit& split : splits_) {
      LengthList& lengths = lengths_of(split, steps);
      for (std::size_t i = 0; i < split.count; ++i) {
        lengths[i] = values[split.first + i];
      }
    }
    for (const OpenUnroll& unroll : unrolls_) {
      set_limit(steps[unroll.step], static_cast<std::int32_t>(values[unroll.at]) - 1);
    }
    return steps;
  }
  std::vector<Step> rounded(std::span<const double> point) const {
    return with_values(rounded_values(point));
  }
  /// Of a program of the form that depends on the form alone: extents in parts of equal length, as
  /// far as they can be.
  std::vector<Step> typical() const {
    std::vector<double> point(size_, 0);
    each_group([&](std::size_t, std::size_t first, std::size_t count, double highest, double) {
      for (std::size_t i = first; i < first + count; ++i) {
        point[i] = highest / static_cast<double>(count + 1);
      }
    });
    return rounded(point);
  }

  /// One prime factor further up or down at coordinate `at` of `steps`, and by how many octaves.
  /// A factor comes from the outermost length, or from the longest other one where that is 1.
  std::optional<std::pair<std::vector<Step>, double>> neighbour(const std::vector<Step>& steps,
                                                                std::size_t at, bool up) const {
    std::vector<Step> moved = steps;
    const OpenSplit* split = find_item(splits_, [&](const OpenSplit& one) {
      return at >= one.first && at < one.first + one.count;
    });
    if (split == nullptr) {
      return neighbour_limit(std::move(moved), at, up);
    }
    const std::size_t level = at - split->first;
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
    for (const OpenUnroll& unroll : unrolls_) {
      const double highest = math::log2(static_cast<double>(limits_.back())), x = point[unroll.at];
      const double over = x < 0 ? x : (x > highest ? x - highest : 0);
      sum += over * over;
      slope[unroll.at] += 2 * over;
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
  struct OpenUnroll {
    std::size_t step, at;  ///< its coordinate
  };

  void add_split(const SearchSpace& space, std::size_t at) {
    const SplitStep* split = std::get_if<SplitStep>(&steps_[at]);
    if (split == nullptr || split->extent <= 1 || !space.splits().is_open(sketch_, at)) {
      return;
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
        return;
      }
    }
  }
  static std::optional<std::int32_t> limit_of(const Step& step) {
    const PragmaStep* pragma = std::get_if<PragmaStep>(&step);
    const auto unroll = pragma == nullptr ? std::nullopt : pragma->hint.as<hints::AutoUnroll>();
    return unroll ? std::optional(unroll->limit) : std::nullopt;
  }
  static void set_limit(Step& step, std::int32_t limit) {
    std::get<PragmaStep>(step).hint = hints::AutoUnroll{limit};
  }
  /// The next entry of the list.
  std::optional<std::pair<std::vector<Step>, double>>
  neighbour_limit(std::vector<Step> moved, std::size_t at, bool up) const {
    Step& step =
        moved[find_item(unrolls_, [&](const OpenUnroll& one) { return one.at == at; })->step];
    const double now = math::log2(*limit_of(step) + 1.0);
    const std::size_t entry = nearest_entry(limits_, now);
    if (up ? entry + 1 == limits_.size() : entry == 0) {
      return std::nullopt;
    }
    set_limit(step, limits_[up ? entry + 1 : entry - 1] - 1);
    return std::pair(std::move(moved), math::fabs(math::log2(*limit_of(step) + 1.0) - now));
  }

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
  std::vector<OpenUnroll> unrolls_;
  std::vector<std::int32_t> limits_;  ///< of unrolling, and 1; ascending
  std::vector<double> start_;
  std::size_t size_ = 0;
};

}  // namespace tensorsmith
