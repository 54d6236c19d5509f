// SPDX-License-Identifier: Apache-2.0
// SketchSplits: which lengths the splits of the sketches of a space may have, and drawing them.
//
// Floor 7. Ansor reference, ch. 5.1; rounded extents: own design. Splits are named by sketch and
// step. Not here: relations between lengths of several splits (gpu_limits.hpp).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/search/row_threads.hpp"
#include "tensorsmith/search/space_options.hpp"
#include "tensorsmith/search/warp_tiles.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/flat_map.hpp"

namespace tensorsmith {

class SketchSplits {
 public:
  explicit SketchSplits(const SpaceOptions& options)
      : hardware_(options.hardware), max_innermost_(options.max_innermost_split_factor),
        max_innermost_reduction_(options.max_innermost_reduction_factor),
        max_rounding_(options.max_rounding), max_warp_rounding_(options.max_warp_rounding) {}

  /// The next sketch.
  void add(const State& sketch) {
    const auto number = sketches_.size();
    lanes_ = most_lanes(*sketch.initial_dag());
    sketches_.push_back({innermost_limits(sketch), fixed_splits(sketch), splits_of_warps(sketch),
                         splits_of_rows(sketch)});
    for (std::size_t at = 0; at < sketch.steps().size(); ++at) {
      const SplitStep* split = std::get_if<SplitStep>(&sketch.steps()[at]);
      if (split == nullptr || split->extent <= 0) {
        continue;
      }
      const double rounding = rounding_of(number, at, split->extent);
      for (std::int64_t rounded : rounded_extents(split->extent, rounding)) {
        const Key key{rounded, split->lengths.size(), sketches_[number].limits[at]};
        if (tables_.count(key) == 0) {
          tables_.emplace(key, enumerate(key));
        }
      }
    }
  }

  /// The greatest innermost length of the split that is step `at` of a history of this sketch.
  std::int64_t max_innermost(std::size_t sketch, std::size_t at) const {
    return sketch < sketches_.size() && at < sketches_[sketch].limits.size()
               ? sketches_[sketch].limits[at]
               : max_innermost_;
  }

  /// Whether the lengths of that split are free: not where a rule has set them.
  bool is_open(std::size_t sketch, std::size_t at) const {
    return sketch >= sketches_.size() || !has_item(sketches_[sketch].fixed, at);
  }

  /// Whether that split shares a row out among threads, or threads among rows.
  bool is_of_rows(std::size_t sketch, std::size_t at) const {
    return sketch < sketches_.size() && has_item(sketches_[sketch].of_rows, at);
  }

  /// By which fraction lengths of that split may exceed the extent: max_rounding of the options,
  /// or, of tiles of warps whose extent has few divisors, max_warp_rounding.
  double rounding_of(std::size_t sketch, std::size_t at, std::int64_t extent) const {
    const bool is_of_warps = sketch < sketches_.size() && has_item(sketches_[sketch].of_warps, at);
    return is_of_warps && wants_rounding(extent) ? max_warp_rounding_ : max_rounding_;
  }

  /// All lengths of a split of `extent` into count + 1 parts, in the reference's order; null where
  /// no sketch has such a split.
  const std::vector<std::vector<std::int64_t>>* choices(std::int64_t extent, std::size_t count,
                                                        std::int64_t max_innermost) const {
    const auto found = tables_.find(Key{extent, count, max_innermost});
    return found == tables_.end() ? nullptr : &found->second;
  }

  /// The numbers whose factors may be lengths of a split of `extent`; `extent` itself comes first.
  std::vector<std::int64_t> rounded_extents(std::int64_t extent) const {
    return rounded_extents(extent, max_rounding_);
  }
  static std::vector<std::int64_t> rounded_extents(std::int64_t extent, double rounding) {
    std::vector<std::int64_t> found = {extent};
    const auto most = extent + static_cast<std::int64_t>(static_cast<double>(extent) * rounding);
    for (std::int64_t multiple : {2, 3, 4, 6, 8, 12, 14, 16, 24, 28, 32, 48, 64}) {
      const std::int64_t rounded = ceil_div(extent, multiple) * multiple;
      if (rounded <= most && !has_item(found, rounded)) {
        found.push_back(rounded);
      }
    }
    return found;
  }

  /// Draws the lengths of a split uniformly from the same list; nothing if it is empty. With
  /// rounding, from the list of one of the rounded extents: half of the time of the extent itself
  /// if it has many divisors, else of any as often as it has divisors.
  template <class Rng>
  std::optional<LengthList> draw(std::int64_t extent, std::size_t count, std::int64_t max_innermost,
                                 Rng& rng) const {
    return draw(extent, count, max_innermost, max_rounding_, rng);
  }
  /// The same for the split that is step `at` of a history of this sketch.
  template <class Rng>
  std::optional<LengthList> draw(std::size_t sketch, std::size_t at, const SplitStep& split,
                                 Rng& rng) const {
    if (is_of_rows(sketch, at)) {
      return draw_row_lengths(split, hardware_, lanes_, rng);
    }
    return draw(split.extent, split.lengths.size(), max_innermost(sketch, at),
                rounding_of(sketch, at, split.extent), rng);
  }

 private:
  /// Lists of steps; limits by step, of steps that are no splits they mean nothing.
  struct OfSketch {
    std::vector<std::int64_t> limits;
    std::vector<std::size_t> fixed, of_warps, of_rows;
  };
  struct Key {
    std::int64_t extent;
    std::size_t count;
    std::int64_t max_innermost;
    auto operator<=>(const Key&) const = default;
  };

  template <class Rng>
  std::optional<LengthList> draw(std::int64_t extent, std::size_t count, std::int64_t max_innermost,
                                 double rounding, Rng& rng) const {
    const auto pick = [&](const std::vector<std::vector<std::int64_t>>& all) {
      std::optional<LengthList> drawn;
      if (!all.empty()) {
        const auto& chosen = all[rng.next_below(static_cast<std::uint32_t>(all.size()))];
        drawn = LengthList(chosen.begin(), chosen.end());
      }
      return drawn;
    };
    if (rounding > 0) {
      extent = draw_rounded(extent, rounding, rng);
    }
    const auto* known = choices(extent, count, max_innermost);
    return known != nullptr ? pick(*known) : pick(enumerate(Key{extent, count, max_innermost}));
  }

  template <class Rng>
  static std::int64_t draw_rounded(std::int64_t extent, double rounding, Rng& rng) {
    constexpr std::size_t many_divisors = 6;
    const std::vector<std::int64_t> all = rounded_extents(extent, rounding);
    if (all.size() == 1) {
      return extent;
    }
    if (divisors(extent).size() >= many_divisors && rng.next_below(2) == 0) {
      return extent;
    }
    std::vector<std::int64_t> tickets;
    for (std::int64_t choice : all) {
      tickets.insert(tickets.end(), divisors(choice).size(), choice);
    }
    return tickets[rng.next_below(static_cast<std::uint32_t>(tickets.size()))];
  }

  static std::vector<std::vector<std::int64_t>> enumerate(Key key) {
    return factorizations(key.extent, static_cast<int>(key.count), key.max_innermost);
  }

  std::vector<std::int64_t> innermost_limits(const State& sketch) const {
    std::vector<std::int64_t> limits;
    State state = sketch.restart();
    for (const Step& step : sketch.steps()) {
      const SplitStep* split = std::get_if<SplitStep>(&step);
      bool reduces = false;  // or is a block of rows, which are gone through one by one
      if (split != nullptr) {
        const auto& stage = state.stage(static_cast<std::size_t>(split->stage));
        reduces =
            stage.iterators[static_cast<std::size_t>(split->iterator)].kind ==
                IteratorKind::reduction ||
            (split->lengths.size() == 1 && state.operation(static_cast<std::size_t>(split->stage))
                                               .attrs.simplify_const_tensor_indices.empty());
      }
      limits.push_back(reduces ? max_innermost_reduction_ : max_innermost_);
      if (!try_step(state, step)) {
        break;  // an open split in front of an rfactor: what follows keeps the
                // common limit
      }
    }
    limits.resize(sketch.steps().size(), max_innermost_);
    return limits;
  }

  /// The splits whose lengths the sketch says. One whose inner part is bound to threads at once,
  /// of a reduction across threads, only proposes how many threads there are.
  static std::vector<std::size_t> fixed_splits(const State& sketch) {
    std::vector<std::size_t> fixed;
    for (std::size_t at = 0; at < sketch.steps().size(); ++at) {
      const SplitStep* split = std::get_if<SplitStep>(&sketch.steps()[at]);
      if (split == nullptr || has_item(split->lengths, unknown_length)) {
        continue;
      }
      const AnnotationStep* next = at + 1 < sketch.steps().size()
                                       ? std::get_if<AnnotationStep>(&sketch.steps()[at + 1])
                                       : nullptr;
      const bool is_proposal = next != nullptr && next->stage == split->stage &&
                               next->iterator == split->iterator + 1 &&
                               is_thread_annotation(next->annotation);
      if (!is_proposal) {
        fixed.push_back(at);
      }
    }
    return fixed;
  }

  HardwareParams hardware_;
  std::int64_t max_innermost_, max_innermost_reduction_;
  double max_rounding_, max_warp_rounding_;
  std::int64_t lanes_ = 1;  ///< see draw_row_lengths
  std::vector<OfSketch> sketches_;
  FlatMap<Key, std::vector<std::vector<std::int64_t>>> tables_;
};

}  // namespace tensorsmith
