// SPDX-License-Identifier: Apache-2.0
// Decision: a choice of a template that depends on the state which the items in front of it made.
//
// Floor 6. Own design. Where a stage may be computed and how many of its loops can be fused is
// known only when the loops are. A decision says which values are worth a try in a state, turns a
// value into steps, and finds the value again in a history. Not here: the decisions of the spaces
// that have a name (search/decisions/).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/space/variable.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/access_analysis.hpp"

namespace tensorsmith {

/// A state on its way through the items of a template.
class BuildState {
 public:
  BuildState(State initial, Shared<const ComputeDag> dag, Shared<const AccessAnalysis> analysis)
      : state(std::move(initial)), dag_(std::move(dag)), analysis_(std::move(analysis)) {}

  State state;
  /// What decisions leave to steps that are derived later: a stage, and a value.
  std::vector<std::pair<std::int32_t, std::int32_t>> wishes;

  /// Of the state's dag.
  const AccessAnalysis& analysis() const {
    if (!(state.dag_ptr() == dag_)) {
      dag_ = state.dag_ptr();
      analysis_ = make_shared_of<const AccessAnalysis>(*dag_, analysis_->reuse());
    }
    return *analysis_;
  }

 private:
  mutable Shared<const ComputeDag> dag_;  ///< that was looked at last
  mutable Shared<const AccessAnalysis> analysis_;
};

/// Equal, but for the extent that a split has written down: it is that of the loop when the step
/// was made first, and says nothing after lengths in front of it have changed.
inline bool is_same_step(const Step& a, const Step& b) {
  const SplitStep* one = std::get_if<SplitStep>(&a);
  const SplitStep* other = std::get_if<SplitStep>(&b);
  return one == nullptr || other == nullptr
             ? a == b
             : one->stage == other->stage && one->iterator == other->iterator &&
                   one->lengths == other->lengths && one->inner_to_outer == other->inner_to_outer;
}

/// The steps of a history that no item of a template has claimed yet.
class StepCursor {
 public:
  explicit StepCursor(const std::vector<Step>& steps) : steps_(&steps), is_taken_(steps.size()) {}

  /// The next step, or one further on; null at the end.
  const Step* peek(std::size_t ahead = 0) const {
    for (std::size_t at = first_; at < steps_->size(); ++at) {
      if (!is_taken_[at] && ahead-- == 0) {
        return &(*steps_)[at];
      }
    }
    return nullptr;
  }
  /// The first step for which `test` holds, wherever it stands; null if there is none.
  template <class Test>
  const Step* find(const Test& test) const {
    for (std::size_t at = first_; at < steps_->size(); ++at) {
      if (!is_taken_[at] && test((*steps_)[at])) {
        return &(*steps_)[at];
      }
    }
    return nullptr;
  }
  /// The next step, or one further on, if it is of this type and about this stage.
  template <class StepType>
  const StepType* peek_of(std::int32_t stage, std::size_t ahead = 0) const {
    const Step* next = peek(ahead);
    const StepType* step = next != nullptr ? std::get_if<StepType>(next) : nullptr;
    return step != nullptr && step->stage == stage ? step : nullptr;
  }
  /// The first step that is the same; false if there is none.
  bool take(const Step& step) {
    const Step* found = find([&](const Step& other) { return is_same_step(other, step); });
    if (found == nullptr) {
      return false;
    }
    is_taken_[static_cast<std::size_t>(found - steps_->data())] = true;
    while (first_ < steps_->size() && is_taken_[first_]) {
      ++first_;
    }
    return true;
  }

 private:
  const std::vector<Step>* steps_;
  std::vector<bool> is_taken_;
  std::size_t first_ = 0;
};

class Decision {
 public:
  Decision() = default;
  Decision(const Decision&) = delete;
  Decision& operator=(const Decision&) = delete;
  virtual ~Decision() = default;

  /// The values worth a try, the usual one first, each once. None: there is nothing to decide, and
  /// the value is `not_asked`.
  virtual std::vector<std::int32_t> choices(const BuildState& at) const = 0;
  /// What is drawn from at first, each as likely as it is often.
  virtual std::vector<std::int32_t> draws(const BuildState& at) const { return choices(at); }
  /// Appends the steps of a value, of `not_asked` none; false if they are illegal. Any legal value
  /// will do, whether it is worth a try or not.
  virtual bool apply(BuildState& to, std::int32_t value) const = 0;
  /// The value whose steps come next, or stand somewhere behind if their order does not matter;
  /// `not_asked` if there are none. Whether they are exactly those of the value is tested by
  /// whoever asks.
  virtual std::int32_t read(const BuildState& at, const StepCursor& steps) const = 0;
};

/// Steps that follow from the state: nothing is decided.
class DerivedSteps {
 public:
  DerivedSteps() = default;
  DerivedSteps(const DerivedSteps&) = delete;
  DerivedSteps& operator=(const DerivedSteps&) = delete;
  virtual ~DerivedSteps() = default;

  virtual bool apply(BuildState& to) const = 0;
};

}  // namespace tensorsmith
