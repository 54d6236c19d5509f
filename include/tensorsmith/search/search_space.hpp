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
#include "tensorsmith/search/dag_analyses.hpp"
#include "tensorsmith/search/nested_parallel.hpp"
#include "tensorsmith/search/schedule_packs.hpp"
#include "tensorsmith/search/sketch_splits.hpp"
#include "tensorsmith/search/space_options.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/space/variable.hpp"
#include "tensorsmith/support/algorithm.hpp"
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
      : sketches_(std::move(sketches)), options_(std::move(options)),
        analyses_(make_shared_of<const DagAnalyses>(options_.reuse)), splits_(options_) {
    TENSORSMITH_ASSERT(!sketches_.empty(), "a search space without sketches");
    for (const State& sketch : sketches_) {
      TENSORSMITH_ASSERT(sketch.initial_dag() == sketches_.front().initial_dag(),
                         "sketches of one space come from one workload");
      of_sketches_.push_back(analyses_->of(sketch.dag_ptr()));
      splits_.add(sketch);
    }
    initial_ = sketches_.front().restart();
  }

  const std::vector<State>& sketches() const { return sketches_; }
  const SpaceOptions& options() const { return options_; }
  /// Of the dag of a sketch.
  const AccessAnalysis& analysis(std::uint32_t sketch) const { return *of_sketches_[sketch]; }

  /// Sketch `index` as a candidate whose open split lengths are to be filled.
  Candidate sketch(std::uint32_t index) const {
    return Candidate{sketches_[index], index, of_sketches_[index]};
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

  /// What lengths the splits of the sketches may have.
  const SketchSplits& splits() const { return splits_; }

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
    candidate.analysis = analyses_->of(candidate.state.dag_ptr());
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
  bool is_decided_here(const Step& step) const {
    return !options_.intrinsics.empty() && has_hint<hints::Tensorize>(step);
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
  Shared<const DagAnalyses> analyses_;  // shared by copies
  std::vector<Shared<const AccessAnalysis>> of_sketches_;
  SketchSplits splits_;
  std::optional<State> initial_;
};

}  // namespace tensorsmith
