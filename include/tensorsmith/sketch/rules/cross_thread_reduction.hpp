// SPDX-License-Identifier: Apache-2.0
// CrossThreadReduction: the threads of a block reduce together.
//
// Floor 5. Ansor reference, ch. 4.3; for GPUs. Legal for a compute stage that is no cache and whose
// reduction is large: with multi-level tiling, spatial extent <= threads of a block and < reduce
// extent; else reduce extent > a warp. If the stage has one untiled consumer with common outer
// loops it is computed there and shares its split:
//     C[i] += A[i, k]; D[i, j] = A[i, j] / C[i]
//         -->  D: i { C: k.0 k.1=threadIdx.x } j.0 j.1=threadIdx.x
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct CrossThreadReduction {
  static constexpr std::string_view name() { return "cross_thread_reduction"; }

  Applicability applicability(const RuleInput& input) const {
    if (input.state.stage(static_cast<std::size_t>(input.stage)).is_placeholder ||
        has_cache_write(input.state, input.stage)) {
      return Applicability::skip;
    }
    const HardwareParams& hardware = input.options.hardware;
    const std::int64_t spatial = extent_product(input.state, input.stage, IteratorKind::spatial);
    const std::int64_t reduce = extent_product(input.state, input.stage, IteratorKind::reduction);
    const bool applies = needs_tiling(input.analysis, input.stage)
                             ? spatial <= hardware.max_threads_per_block && spatial < reduce
                             : reduce > 1 && reduce > hardware.warp_size;
    return applies ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const std::int32_t fused = fuse_reduction(state, input.stage);
    const LengthList warp = {input.options.hardware.warp_size};
    if (const auto fusion = fusion_of(input)) {
      std::vector<std::int32_t> splits = split_steps_of(state, fusion->stage);
      if (splits.empty()) {
        const auto& iterators = state.stage(static_cast<std::size_t>(fusion->stage)).iterators;
        const auto last = static_cast<std::int32_t>(iterators.size()) - 1;
        splits.push_back(static_cast<std::int32_t>(state.steps().size()));
        grow(state, split_of(state, fusion->stage, last, warp));
        grow(state, AnnotationStep{fusion->stage, last + 1, Annotation::thread_x});
      }
      grow(state, FollowSplitStep{input.stage, fused, splits.front(), 1});
      grow(state, AnnotationStep{input.stage, fused + 1, Annotation::thread_x});
      grow(state, ComputeAtStep{input.stage, fusion->stage, fusion->iterator});
    } else {
      grow(state, split_of(state, input.stage, fused, warp));
      grow(state, AnnotationStep{input.stage, fused + 1, Annotation::thread_x});
    }
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  /// Fuses all reduction iterators; returns the place of the fused one.
  static std::int32_t fuse_reduction(State& state, std::int32_t stage) {
    IdList reduce;
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      if (iterators[i].kind == IteratorKind::reduction) {
        reduce.push_back(static_cast<std::int32_t>(i));
      }
    }
    const std::int32_t first = reduce.front();
    if (reduce.size() > 1) {
      grow(state, FuseStep{stage, reduce});
    }
    return first;
  }

  /// The loop of the consumer to compute the stage at. The consumer is split at most once and, if
  /// it is not yet, purely spatial; the reference stops with an error where this does not hold.
  static std::optional<IteratorKey> fusion_of(const RuleInput& input) {
    const auto target = single_consumer(input.state, input.analysis, input.stage);
    if (!target || needs_tiling(input.analysis, *target) ||
        input.analysis.is_output(static_cast<std::uint32_t>(input.stage))) {
      return std::nullopt;
    }
    const auto common = static_cast<std::int32_t>(input.analysis.num_common_outer_iterators(
        static_cast<std::uint32_t>(input.stage), static_cast<std::uint32_t>(*target)));
    const std::size_t num_splits = split_steps_of(input.state, *target).size();
    const bool fits =
        num_splits == 1 || (num_splits == 0 && !has_non_spatial_iterator(input.state, *target));
    return common > 0 && fits ? std::optional(IteratorKey{*target, common - 1}) : std::nullopt;
  }
};

}  // namespace tensorsmith
