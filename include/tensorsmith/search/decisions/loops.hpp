// SPDX-License-Identifier: Apache-2.0
// How many loops are fused and run in parallel, as vectors, or written out: decisions of a
// template.
//
// Floor 7. Ansor reference, ch. 5.1 (Parallel, Unroll, Vectorization). What is drawn at first is
// what the reference draws (population/parallelize.hpp, unroll.hpp, vectorize.hpp).
//     FU C [0, 1], AN C 0 parallel  -->  C.parallel = 2 (if that is not the usual number)
//     FU C [5, 6], AN C 5 vectorize  -->  C.vector = 2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/population/unroll.hpp"
#include "tensorsmith/search/population/vectorize.hpp"
#include "tensorsmith/space/decision.hpp"

namespace tensorsmith {

/// The loops of the innermost tile that a computation wants written out: bit i, iterator i.
class UnrolledLoops final : public Decision {
 public:
  explicit UnrolledLoops(std::int32_t stage) : stage_(stage) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    const std::int32_t wanted = mask_of(loops_to_unroll(at.state, stage_));
    return wanted == 0 ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{wanted};
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    for (std::int32_t i = most_iterators; value > 0 && i-- > 0;) {
      if ((value >> i & 1) != 0 &&
          !try_step(to.state, AnnotationStep{stage_, i, Annotation::unroll})) {
        return false;
      }
    }
    return true;
  }
  std::int32_t read(const BuildState&, const StepCursor& steps) const override {
    std::vector<std::int32_t> loops;
    for (std::size_t next = 0;; ++next) {
      const AnnotationStep* step = steps.peek_of<AnnotationStep>(stage_, next);
      if (step == nullptr || step->annotation != Annotation::unroll) {
        break;
      }
      loops.push_back(step->iterator);
    }
    const std::int32_t mask = mask_of(loops);
    return mask == 0 ? not_asked : mask;
  }

 private:
  static constexpr std::int32_t most_iterators = 30;

  static std::int32_t mask_of(const std::vector<std::int32_t>& loops) {
    std::int32_t mask = 0;
    for (std::int32_t loop : loops) {
      mask |= loop >= 0 && loop < most_iterators ? 1 << loop : 0;
    }
    return mask;
  }

  std::int32_t stage_;
};

/// Up to how many statements lowering may unroll.
class AutoUnroll final : public Decision {
 public:
  AutoUnroll(std::int32_t stage, std::vector<std::int32_t> limits)
      : stage_(stage), limits_(std::move(limits)) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    const bool is_asked =
        at.state.stage(static_cast<std::size_t>(stage_)).compute_at != ComputeAt::inlined &&
        has_non_spatial_iterator(at.state, stage_);
    return is_asked ? limits_ : std::vector<std::int32_t>{};
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    return value < 0 || try_step(to.state, PragmaStep{stage_, 0, hints::AutoUnroll{value}});
  }
  std::int32_t read(const BuildState&, const StepCursor& steps) const override {
    const PragmaStep* pragma = steps.peek_of<PragmaStep>(stage_);
    const auto unroll = pragma != nullptr ? pragma->hint.as<hints::AutoUnroll>() : std::nullopt;
    return unroll ? unroll->limit : not_asked;
  }

 private:
  std::int32_t stage_;
  std::vector<std::int32_t> limits_;
};

/// How many of the innermost loops are one vector; 0: none of them.
class VectorDecision final : public Decision {
 public:
  VectorDecision(std::int32_t stage, std::int64_t most_lanes)
      : stage_(stage), most_lanes_(most_lanes) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    const auto& stage = at.state.stage(static_cast<std::size_t>(stage_));
    if (stage.is_placeholder || stage.compute_at == ComputeAt::inlined) {
      return {};
    }
    const std::uint32_t fusible = num_vector_loops(at.state, stage_, most_lanes_);
    std::vector<std::int32_t> found;  // never all of several, as the reference
    for (std::uint32_t count = 1; count < fusible || (fusible == 1 && count == 1); ++count) {
      found.push_back(static_cast<std::int32_t>(count));
    }
    return found;
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    const auto loops = static_cast<std::int32_t>(
        to.state.stage(static_cast<std::size_t>(stage_)).iterators.size());
    if (value <= 0 || value > loops) {
      return value <= 0;
    }
    FuseStep fuse{stage_, {}};
    for (std::int32_t i = loops - value; i < loops; ++i) {
      fuse.iterators.push_back(i);
    }
    return (value == 1 || try_step(to.state, fuse)) &&
           try_step(to.state, AnnotationStep{stage_, loops - value, Annotation::vectorize});
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    const FuseStep* fuse = steps.peek_of<FuseStep>(stage_);
    const AnnotationStep* annotation =
        steps.peek_of<AnnotationStep>(stage_, fuse != nullptr ? 1 : 0);
    const auto loops = static_cast<std::int32_t>(
        at.state.stage(static_cast<std::size_t>(stage_)).iterators.size());
    const bool is_vector = annotation != nullptr &&
                           annotation->annotation == Annotation::vectorize &&
                           (fuse != nullptr || annotation->iterator == loops - 1);
    return !is_vector        ? not_asked
           : fuse == nullptr ? 1
                             : static_cast<std::int32_t>(fuse->iterators.size());
  }

 private:
  std::int32_t stage_;
  std::int64_t most_lanes_;
};

}  // namespace tensorsmith
