// SPDX-License-Identifier: Apache-2.0
// Places: where stages are computed, as decisions of a template.
//
// Floor 7. Ansor reference, ch. 5.1 (ChangeComputeLocation). A value says: as the sketch has it,
// inlined, at root, or at an iterator of another stage.
//     CA pad conv i1  -->  B.place = place_at(conv, 1)
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/location_candidates.hpp"
#include "tensorsmith/space/decision.hpp"

namespace tensorsmith {

namespace places {
inline constexpr std::int32_t unchanged = 0, inlined = 1, root = 2, first_iterator = 3;
inline constexpr std::int32_t iterators_per_stage = 1024;
constexpr std::int32_t at(IteratorKey key) {
  return first_iterator + key.stage * iterators_per_stage + key.iterator;
}
constexpr IteratorKey iterator_of(std::int32_t value) {
  return {(value - first_iterator) / iterators_per_stage,
          (value - first_iterator) % iterators_per_stage};
}
}  // namespace places

namespace detail {

inline bool apply_place(State& state, std::int32_t stage, std::int32_t value) {
  switch (value) {
  case not_asked:
  case places::unchanged:
    return true;
  case places::inlined:
    return try_step(state, ComputeInlineStep{stage});
  case places::root:
    return try_step(state, ComputeRootStep{stage});
  default:
    break;
  }
  const IteratorKey key = places::iterator_of(value);
  return value > 0 && try_step(state, ComputeAtStep{stage, key.stage, key.iterator});
}

inline std::optional<std::int32_t> read_place(const StepCursor& steps, std::int32_t stage) {
  if (steps.peek_of<ComputeInlineStep>(stage) != nullptr) {
    return places::inlined;
  }
  if (steps.peek_of<ComputeRootStep>(stage) != nullptr) {
    return places::root;
  }
  const ComputeAtStep* at = steps.peek_of<ComputeAtStep>(stage);
  const bool has_value = at != nullptr && at->target_stage >= 0 && at->target_iterator >= 0 &&
                         at->target_iterator < places::iterators_per_stage &&
                         at->target_stage < INT32_MAX / places::iterators_per_stage - 1;
  return has_value ? std::optional(places::at({at->target_stage, at->target_iterator}))
                   : std::nullopt;
}

}  // namespace detail

/// A stage that the sketch leaves where it is, or attaches for the search to move.
class PlaceDecision final : public Decision {
 public:
  /// With a sketch, candidates are those of its loops as they are while lengths are open: loops of
  /// one iteration among them, as in the reference.
  explicit PlaceDecision(std::int32_t stage, std::optional<State> open_sketch = std::nullopt)
      : stage_(stage), open_(std::move(open_sketch)) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    std::vector<std::int32_t> all = candidates(at);
    if (all.empty()) {
      return all;
    }
    const bool is_at_root = at.state.stage(id()).compute_at == ComputeAt::root;
    std::vector<std::int32_t> found;
    if (!is_at_root) {
      found.push_back(places::unchanged);
    }
    for (std::int32_t value : all) {
      if (value != places::unchanged && !has_item(found, value)) {
        found.push_back(value);
      }
    }
    return found;
  }
  std::vector<std::int32_t> draws(const BuildState& at) const override { return candidates(at); }
  bool apply(BuildState& to, std::int32_t value) const override {
    return detail::apply_place(to.state, stage_, value);
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    const std::optional<std::int32_t> value = detail::read_place(steps, stage_);
    return value ? *value : choices(at).empty() ? not_asked : places::unchanged;
  }

 private:
  std::size_t id() const { return static_cast<std::size_t>(stage_); }

  /// In the reference's order: inline if that can be, root, then iterators.
  std::vector<std::int32_t> candidates(const BuildState& at) const {
    const State& state = at.state;
    if (!has_free_location(state, at.analysis(), stage_)) {
      return {};
    }
    const bool is_attached = state.stage(id()).compute_at == ComputeAt::iterator;
    const StageAccess& facts = at.analysis().stage(static_cast<std::uint32_t>(stage_));
    const bool can_inline =
        is_attached && !has_non_spatial_iterator(state, stage_) && !facts.is_too_long_to_inline;
    std::vector<std::int32_t> found = {can_inline ? places::inlined : places::unchanged,
                                       places::root};
    for (const IteratorKey& key :
         location_candidates(open_ ? opened(state) : state, at.analysis(), stage_)) {
      found.push_back(places::at(key));
    }
    return found;
  }

  /// The sketch with the places decided so far.
  State opened(const State& state) const {
    State open = *open_;
    for (std::size_t i = open_->steps().size(); i < state.steps().size(); ++i) {
      static_cast<void>(try_step(open, state.steps()[i]));
    }
    return open;
  }

  std::int32_t stage_;
  std::optional<State> open_;
};

/// A place that the sketch names; mutations may name another.
class SketchPlace final : public Decision {
 public:
  explicit SketchPlace(const ComputeAtStep& step) : step_(step) {}

  std::vector<std::int32_t> choices(const BuildState&) const override {
    return {places::at({step_.target_stage, step_.target_iterator})};
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    return value >= places::first_iterator && detail::apply_place(to.state, step_.stage, value);
  }
  std::int32_t read(const BuildState&, const StepCursor& steps) const override {
    return detail::read_place(steps, step_.stage).value_or(not_asked);
  }

 private:
  ComputeAtStep step_;
};

}  // namespace tensorsmith
