// SPDX-License-Identifier: Apache-2.0
// Which tensor intrinsic computes a stage, as a decision of a template.
//
// Floor 7. Own design (apply_intrinsics.hpp). Moves leave it as it fits, since an instruction that
// computes several products at once is never slower than one that computes one; who makes an
// assignment may say that a stage has none, or which one.
//     C.intrinsic = 1  -->  C: for i, j, k, without the instruction that fits
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/apply_intrinsics.hpp"
#include "tensorsmith/sketch/packs.hpp"
#include "tensorsmith/space/decision.hpp"

namespace tensorsmith {

namespace intrinsics {
/// Values of the decision; first + i: number i of the space's list.
inline constexpr std::int32_t as_fits = 0, none = 1, first = 2;
}  // namespace intrinsics

class IntrinsicDecision final : public Decision {
 public:
  /// `known`: those of the space, the one that is taken where several fit first.
  IntrinsicDecision(std::int32_t stage, std::vector<const TensorIntrinsic*> known)
      : stage_(stage), known_(std::move(known)) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    return fitting(at, known_) != nullptr ? std::vector<std::int32_t>{intrinsics::as_fits}
                                          : std::vector<std::int32_t>{};
  }
  /// False for one that does not fit.
  bool apply(BuildState& to, std::int32_t value) const override {
    if (value == not_asked || value == intrinsics::none) {
      return true;
    }
    if (value == intrinsics::as_fits) {
      return take(to, fitting(to, known_));
    }
    const std::int64_t number = std::int64_t{value} - intrinsics::first;
    return number >= 0 && number < static_cast<std::int64_t>(known_.size()) &&
           take(to, fitting(to, {known_[static_cast<std::size_t>(number)]}));
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    const TensorIntrinsic* usual = fitting(at, known_);
    const Step* found = steps.find([&](const Step& step) {
      return stage_of(step) == stage_ && has_hint<hints::Tensorize>(step);
    });
    if (found == nullptr) {
      return usual != nullptr ? intrinsics::none : not_asked;
    }
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (*found == Step(step_of(*known_[i]))) {
        return known_[i] == usual ? intrinsics::as_fits
                                  : intrinsics::first + static_cast<std::int32_t>(i);
      }
    }
    return not_asked;
  }

 private:
  PragmaStep step_of(const TensorIntrinsic& intrinsic) const {
    return {stage_, 0, hints::Tensorize{std::string(intrinsic.name)}};
  }
  bool take(BuildState& to, const TensorIntrinsic* intrinsic) const {
    return intrinsic != nullptr && try_step(to.state, step_of(*intrinsic));
  }

  /// The first of the list that fits; null: none does.
  const TensorIntrinsic* fitting(const BuildState& at,
                                 const std::vector<const TensorIntrinsic*>& list) const {
    const auto id = static_cast<std::size_t>(stage_);
    State state = at.state.restart();  // as the history alone says
    PackedCopies packs;
    for (const Step& step : at.state.steps()) {
      packs.follow(step);
      if (!try_step(state, step)) {
        return nullptr;
      }
    }
    return id < state.num_stages() ? detail::intrinsic_for(state, id, list, packs) : nullptr;
  }

  std::int32_t stage_;
  std::vector<const TensorIntrinsic*> known_;
};

}  // namespace tensorsmith
