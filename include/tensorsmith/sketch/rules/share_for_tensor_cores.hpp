// SPDX-License-Identifier: Apache-2.0
// ShareForTensorCores: the warps of a block share copies of the matrices that they multiply.
//
// Floor 5. Own design. Legal for a stage that a sum of TileForTensorCores reads. All threads of the
// block fetch together, 16 bytes each where that divides a row; rows are padded by as much, so that
// the eight rows that one instruction reads lie in different banks.
//     C: k.0 k.1 k.m i j
//         -->  C: k.0 { A.shared: .., threadIdx.y, threadIdx.x, vectorize } k.1 k.m i j
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct ShareForTensorCores {
  static constexpr std::string_view name() { return "share_for_tensor_cores"; }

  Applicability applicability(const RuleInput& input) const {
    return reader_of(input) ? Applicability::apply_and_skip_rest : Applicability::skip;
  }

  /// The stage is looked at again, for another reader, or to be computed in its copy.
  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const std::optional<std::int32_t> reader = reader_of(input);
    TENSORSMITH_ASSERT(reader.has_value(), "expand of a rule that does not apply");
    grow(state, CacheReadStep{input.stage, "shared", {*reader}});
    const std::int32_t copy = input.stage + 1, sum = *reader + 1;
    const std::int32_t target = state.attach_map().stage_to_iterator.at(sum).stage;
    grow(state, ComputeAtStep{copy, sum, 0});

    const Operation& op = state.operation(static_cast<std::size_t>(copy));
    const auto rank = static_cast<std::int32_t>(op.axes.size());
    const std::int64_t bytes = bytes_of(state.dag().tensor(op.outputs[0]).dtype);
    const std::int64_t unit = 16 / bytes;
    const std::int32_t num_warps = warps_together(input, *reader);
    std::int64_t lanes = unit;
    while (op.axes.back().extent % lanes != 0) {  // rows begin where the one before ends
      lanes /= 2;
    }
    FuseStep all{copy, {}};
    StorageLayoutStep rows{copy, LengthList(static_cast<std::size_t>(rank), 0), {}, unit};
    for (std::int32_t d = 0; d < rank; ++d) {
      all.iterators.push_back(d);
      rows.order.push_back(2 * d);
    }
    FollowFusedSplitStep warps{copy, 0, {}, warp_level, true};
    for (std::int32_t step : split_steps_of(state, target)) {
      const auto& split = std::get<SplitStep>(state.steps()[static_cast<std::size_t>(step)]);
      if (has_item(split.lengths, unknown_length)) {
        warps.source_steps.push_back(step);
      }
    }
    grow(state, all);
    if (num_warps > 1) {  // [d floordiv 64]...[d floormod 64], swizzled: lower/swizzle_shared.hpp
      constexpr std::int64_t line_bytes = 128;
      const std::int32_t last = 2 * (rank - 1);
      rows = {copy, LengthList(static_cast<std::size_t>(rank), 0), {last}, 0};
      rows.blocks.back() = line_bytes / bytes;
      for (std::int32_t d = 0; d + 1 < rank; ++d) {
        rows.order.push_back(2 * d);
      }
      rows.order.push_back(last + 1);
    }
    const std::int64_t threads = num_warps * input.options.hardware.warp_size;
    grow(state, split_of(state, copy, 0, {threads, lanes}));
    grow(state, warps);
    grow(state, AnnotationStep{copy, 1, Annotation::thread_y});
    grow(state, AnnotationStep{copy, 2, Annotation::thread_x});
    grow(state, AnnotationStep{copy, 3, Annotation::vectorize});
    grow(state, rows);
    return {Derivation{std::move(state), input.stage}};
  }

 private:
  /// Of the lengths that TileForTensorCores leaves open.
  static constexpr std::int32_t warp_level = 1;

  /// Warps that compute the stage together.
  static std::int32_t warps_together(const RuleInput& input, std::int32_t reader) {
    const auto& hints = input.state.stage(static_cast<std::size_t>(reader)).hints;
    const std::string& name = hints.get<hints::Tensorize>().intrinsic;
    for (const TensorIntrinsic* intrinsic : input.options.intrinsics) {
      if (intrinsic->name == name) {
        return intrinsic->warps;
      }
    }
    return 1;
  }

  /// The first reader that warps compute.
  static std::optional<std::int32_t> reader_of(const RuleInput& input) {
    for (std::uint32_t reader : input.analysis.readers(static_cast<std::uint32_t>(input.stage))) {
      const auto& stage = input.state.stage(reader);
      if (stage.hints.has<hints::Tensorize>() && stage.compute_at == ComputeAt::iterator) {
        return static_cast<std::int32_t>(reader);
      }
    }
    return std::nullopt;
  }
};

}  // namespace tensorsmith
