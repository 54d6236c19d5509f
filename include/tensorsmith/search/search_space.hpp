// SPDX-License-Identifier: Apache-2.0
// SearchSpace: the sketches of a task and what sampling and mutating them needs.
//
// Floor 7. Ansor reference, ch. 5 (parameters: ch. 4.1); rounded extents: own design. Immutable
// once built, so any number of threads may draw from it. Not here: deriving sketches
// (sketch/generate.hpp), drawing (search/population/), scores.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/search/apply_intrinsics.hpp"
#include "tensorsmith/search/nested_parallel.hpp"
#include "tensorsmith/search/row_threads.hpp"
#include "tensorsmith/search/schedule_packs.hpp"
#include "tensorsmith/search/space_options.hpp"
#include "tensorsmith/search/warp_tiles.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/space/variable.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/flat_map.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// A program under construction or complete: always a legal state.
struct Candidate {
  static constexpr std::uint32_t no_sketch = UINT32_MAX;

  State state;
  std::uint32_t sketch = no_sketch;                 ///< whose steps the history begins with
  Shared<const AccessAnalysis> analysis;            ///< of state.dag()
  std::optional<Assignment> values = std::nullopt;  ///< of its template, where it was made of one
};

class SearchSpace {
 public:
  SearchSpace(std::vector<State> sketches, SpaceOptions options)
      : sketches_(std::move(sketches)), options_(std::move(options)) {
    TENSORSMITH_ASSERT(!sketches_.empty(), "a search space without sketches");
    for (const State& sketch : sketches_) {
      TENSORSMITH_ASSERT(sketch.initial_dag() == sketches_.front().initial_dag(),
                         "sketches of one space come from one workload");
      analyses_.push_back(make_shared_of<const AccessAnalysis>(sketch.dag()));
      limits_.push_back(innermost_limits(sketch));
      fixed_.push_back(fixed_splits(sketch));
      of_warps_.push_back(splits_of_warps(sketch));
      of_rows_.push_back(splits_of_rows(sketch));
      for (std::size_t at = 0; at < sketch.steps().size(); ++at) {
        const SplitStep* split = std::get_if<SplitStep>(&sketch.steps()[at]);
        if (split != nullptr && split->extent > 0) {
          const double rounding = rounding_of(of_warps_.size() - 1, at, split->extent);
          for (std::int64_t rounded : rounded_extents(split->extent, rounding)) {
            const Key key{rounded, split->lengths.size(), limits_.back()[at]};
            if (tables_.count(key) == 0) {
              tables_.emplace(key, enumerate(key));
            }
          }
        }
      }
    }
    initial_ = sketches_.front().restart();
  }

  const std::vector<State>& sketches() const { return sketches_; }
  const SpaceOptions& options() const { return options_; }

  /// Sketch `index` as a candidate whose open split lengths are to be filled.
  Candidate sketch(std::uint32_t index) const {
    return Candidate{sketches_[index], index, analyses_[index]};
  }

  /// Where every replay starts; candidates that share it share derived dags too.
  const State& initial() const { return *initial_; }

  /// Whether the sketch says where `stage` is computed. Of a packed copy it only proposes a place.
  bool places(std::uint32_t sketch, std::int32_t stage) const {
    if (sketch >= sketches_.size() ||
        static_cast<std::size_t>(stage) >= sketches_[sketch].num_stages()) {
      return false;
    }
    const State& state = sketches_[sketch];
    return state.stage(static_cast<std::size_t>(stage)).compute_at == ComputeAt::iterator &&
           !PackedCopies(state.steps()).contains(stage);
  }

  /// The greatest innermost length of the split that is step `at` of a history of this sketch.
  std::int64_t max_innermost(std::uint32_t sketch, std::size_t at) const {
    return sketch < limits_.size() && at < limits_[sketch].size()
               ? limits_[sketch][at]
               : options_.max_innermost_split_factor;
  }

  /// Whether the lengths of the split that is step `at` of a history of this sketch are free: not
  /// where a rule has set them.
  bool is_open(std::uint32_t sketch, std::size_t at) const {
    return sketch >= fixed_.size() || !has_item(fixed_[sketch], at);
  }

  /// All lengths of a split of `extent` into count + 1 parts, in the reference's order.
  const std::vector<std::vector<std::int64_t>>*
  length_choices(std::int64_t extent, std::size_t count, std::int64_t max_innermost) const {
    const auto found = tables_.find(Key{extent, count, max_innermost});
    return found == tables_.end() ? nullptr : &found->second;
  }

  /// The numbers whose factors may be lengths of a split of `extent`; `extent` itself comes first.
  std::vector<std::int64_t> rounded_extents(std::int64_t extent) const {
    return rounded_extents(extent, options_.max_rounding);
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
  std::optional<LengthList> draw_lengths(std::int64_t extent, std::size_t count,
                                         std::int64_t max_innermost, Rng& rng) const {
    return draw_lengths(extent, count, max_innermost, options_.max_rounding, rng);
  }
  /// The same for the split that is step `at` of a history of this sketch.
  template <class Rng>
  std::optional<LengthList> draw_lengths(std::uint32_t sketch, std::size_t at,
                                         const SplitStep& split, Rng& rng) const {
    if (is_of_rows(sketch, at)) {
      return draw_row_lengths(split, options_.hardware, most_lanes(initial_->dag()), rng);
    }
    return draw_lengths(split.extent, split.lengths.size(), max_innermost(sketch, at),
                        rounding_of(sketch, at, split.extent), rng);
  }

  /// Whether that split shares a row out among threads, or threads among rows.
  bool is_of_rows(std::uint32_t sketch, std::size_t at) const {
    return sketch < of_rows_.size() && has_item(of_rows_[sketch], at);
  }

  /// By which fraction lengths of that split may exceed the extent: max_rounding of the options,
  /// or, of tiles of warps whose extent has few divisors, max_warp_rounding.
  double rounding_of(std::size_t sketch, std::size_t at, std::int64_t extent) const {
    return sketch < of_warps_.size() && has_item(of_warps_[sketch], at) && wants_rounding(extent)
               ? options_.max_warp_rounding
               : options_.max_rounding;
  }

  /// The candidate with this history, bounds inferred; nothing if a step is illegal. How packed
  /// copies run (but whether they keep rows), how caches of results lie in memory, and which stages
  /// are computed by an intrinsic is not taken from the history: it follows from the rest.
  std::optional<Candidate> build(const std::vector<Step>& steps, std::uint32_t sketch) const {
    State state = *initial_;
    PackedCopies packs;
    ResultCaches caches;
    const std::size_t own = sketch < sketches_.size() ? sketches_[sketch].steps().size() : 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const bool is_layout = options_.lay_out_results && i >= own &&
                             std::holds_alternative<StorageLayoutStep>(step) &&
                             caches.contains(stage_of(step));
      const bool is_decided = packs.is_about_loops(step) || is_layout || is_decided_here(step);
      packs.follow(step);
      if (is_decided) {
        continue;
      }
      caches.follow(step);
      if (!try_step(state, step)) {
        return std::nullopt;
      }
    }
    if (!apply_intrinsics(state, options_.intrinsics, packs) ||
        !schedule_packs(state, packs, options_.hardware, options_.intrinsics) ||
        (options_.lay_out_results && !schedule_result_caches(state, caches))) {
      return std::nullopt;
    }
    Candidate candidate{std::move(state), sketch, nullptr};
    if (!refresh(candidate)) {
      return std::nullopt;
    }
    return candidate;
  }

  /// The candidate that its own history gives; false if there is none.
  bool rebuild(Candidate& candidate) const {
    std::optional<Candidate> built = build(candidate.state.steps(), candidate.sketch);
    if (!built) {
      return false;
    }
    candidate = std::move(*built);
    return true;
  }

  /// Infers the bounds and looks at the dag anew if it is another one; false if that is impossible.
  bool refresh(Candidate& candidate) const {
    if (try_infer_bounds(candidate.state)) {
      return false;
    }
    candidate.analysis = analysis_of(candidate);
    return true;
  }

  /// The sketch whose steps are a prefix of `steps` (unknown lengths match any); the longest such.
  std::uint32_t sketch_of(const std::vector<Step>& steps) const {
    std::uint32_t best = Candidate::no_sketch;
    for (std::uint32_t i = 0; i < sketches_.size(); ++i) {
      const std::vector<Step>& prefix = sketches_[i].steps();
      const bool longer =
          best == Candidate::no_sketch || prefix.size() > sketches_[best].steps().size();
      if (longer && is_prefix(prefix, steps)) {
        best = i;
      }
    }
    return best;
  }

 private:
  struct Key {
    std::int64_t extent;
    std::size_t count;
    std::int64_t max_innermost;
    auto operator<=>(const Key&) const = default;
  };

  template <class Rng>
  std::optional<LengthList> draw_lengths(std::int64_t extent, std::size_t count,
                                         std::int64_t max_innermost, double rounding,
                                         Rng& rng) const {
    const auto pick = [&](const std::vector<std::vector<std::int64_t>>& choices) {
      std::optional<LengthList> drawn;
      if (!choices.empty()) {
        const auto& chosen = choices[rng.next_below(static_cast<std::uint32_t>(choices.size()))];
        drawn = LengthList(chosen.begin(), chosen.end());
      }
      return drawn;
    };
    if (rounding > 0) {
      extent = draw_rounded(extent, rounding, rng);
    }
    const auto* known = length_choices(extent, count, max_innermost);
    return known != nullptr ? pick(*known) : pick(enumerate(Key{extent, count, max_innermost}));
  }

  bool is_decided_here(const Step& step) const {
    return !options_.intrinsics.empty() && has_hint<hints::Tensorize>(step);
  }

  /// By step; of steps that are no splits it means nothing.
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
      limits.push_back(reduces ? options_.max_innermost_reduction_factor
                               : options_.max_innermost_split_factor);
      if (!try_step(state, step)) {
        break;  // an open split in front of an rfactor: what follows keeps the common limit
      }
    }
    limits.resize(sketch.steps().size(), options_.max_innermost_split_factor);
    return limits;
  }

  /// The splits whose lengths the sketch says. One whose inner part is bound to threads at once, of
  /// a reduction across threads, only proposes how many threads there are.
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

  template <class Rng>
  static std::int64_t draw_rounded(std::int64_t extent, double rounding, Rng& rng) {
    constexpr std::size_t many_divisors = 6;
    const std::vector<std::int64_t> choices = rounded_extents(extent, rounding);
    if (choices.size() == 1) {
      return extent;
    }
    if (divisors(extent).size() >= many_divisors && rng.next_below(2) == 0) {
      return extent;
    }
    std::vector<std::int64_t> tickets;
    for (std::int64_t choice : choices) {
      tickets.insert(tickets.end(), divisors(choice).size(), choice);
    }
    return tickets[rng.next_below(static_cast<std::uint32_t>(tickets.size()))];
  }

  std::vector<std::vector<std::int64_t>> enumerate(Key key) const {
    return factorizations(key.extent, static_cast<int>(key.count), key.max_innermost);
  }

  /// States of one origin share derived dags, so the dag of a candidate is its sketch's unless a
  /// factored split changed extents.
  Shared<const AccessAnalysis> analysis_of(const Candidate& candidate) const {
    if (candidate.sketch < sketches_.size() &&
        candidate.state.dag_ptr() == sketches_[candidate.sketch].dag_ptr()) {
      return analyses_[candidate.sketch];
    }
    return make_shared_of<const AccessAnalysis>(candidate.state.dag());
  }

  static bool matches(const Step& pattern, const Step& step) {
    const SplitStep* open = std::get_if<SplitStep>(&pattern);
    const SplitStep* closed = std::get_if<SplitStep>(&step);
    if (open == nullptr || closed == nullptr) {
      return pattern == step;
    }
    bool equal = open->stage == closed->stage && open->iterator == closed->iterator &&
                 open->inner_to_outer == closed->inner_to_outer &&
                 open->lengths.size() == closed->lengths.size();
    for (std::size_t i = 0; equal && i < open->lengths.size(); ++i) {
      equal = open->lengths[i] == unknown_length || open->lengths[i] == closed->lengths[i];
    }
    return equal;
  }
  static bool is_prefix(const std::vector<Step>& prefix, const std::vector<Step>& steps) {
    bool equal = prefix.size() <= steps.size();
    for (std::size_t i = 0; equal && i < prefix.size(); ++i) {
      equal = matches(prefix[i], steps[i]);
    }
    return equal;
  }

  std::vector<State> sketches_;
  SpaceOptions options_;
  std::vector<Shared<const AccessAnalysis>> analyses_;  ///< one per sketch
  std::vector<std::vector<std::int64_t>> limits_;       ///< by sketch and step
  std::vector<std::vector<std::size_t>> fixed_;         ///< by sketch: steps
  std::vector<std::vector<std::size_t>> of_warps_;      ///< the same
  std::vector<std::vector<std::size_t>> of_rows_;       ///< the same
  FlatMap<Key, std::vector<std::vector<std::int64_t>>> tables_;
  std::optional<State> initial_;
};

}  // namespace tensorsmith
