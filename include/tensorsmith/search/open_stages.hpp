// SPDX-License-Identifier: Apache-2.0
// The splits of a sketch whose lengths are open, by stage: what a model of lengths decides.
//
// Floor 7. Own design. Not here: the lengths (seed_model.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// A split of a sketch whose lengths are to be chosen.
struct OpenSplit {
  std::size_t step = 0;
  std::int64_t extent = 1;
  std::size_t num_lengths = 0;
  bool is_reduction = false;
  std::int32_t element_bytes = 4;          ///< of the stage's result
  bool is_block = false;                   ///< of rows: the vectors run along another axis
  bool follows = false;                    ///< another one has its lengths: columns of a product
  bool in_lanes = false;                   ///< of a sum: the vectors run along the reduction
  const TensorIntrinsic* tiles = nullptr;  ///< of the stage: it may be computed in tile registers
};

/// The open splits of one stage, in the order of its iterators.
using OpenStage = std::vector<OpenSplit>;

/// Whether it has splits for blocks of rows only.
inline bool has_blocks_only(const OpenStage& stage) {
  return all_items(stage, [](const OpenSplit& split) { return split.is_block; });
}

/// One of them that computes the operation in tile registers; nullptr = there is none.
inline const TensorIntrinsic*
tile_intrinsic(const ExprPool& pool, const Operation& op,
               const std::vector<const TensorIntrinsic*>& intrinsics) {
  for (const TensorIntrinsic* intrinsic : intrinsics) {
    if (intrinsic->has_tiles() && !op.axes.empty() && !op.reduce_axes.empty() &&
        tensor_operands(pool, op, *intrinsic, op.axes.back().var)) {
      return intrinsic;
    }
  }
  return nullptr;
}

inline std::vector<OpenStage> open_stages(const State& initial, const State& sketch,
                                          const std::vector<const TensorIntrinsic*>& intrinsics) {
  std::vector<OpenStage> stages;
  std::vector<std::string> names;
  State state = initial;
  std::vector<std::string> in_lanes;
  for (std::size_t id = 0; id < sketch.num_stages(); ++id) {
    if (sketch.stage(id).hints.has<hints::VectorizeSum>()) {
      in_lanes.push_back(sketch.operation(id).name);
    }
  }
  const auto add = [&](std::size_t step, const SplitStep& split, bool follows) {
    const auto stage = static_cast<std::size_t>(split.stage);
    const auto& iterators = state.stage(stage).iterators;
    const bool is_reduction =
        iterators[static_cast<std::size_t>(split.iterator)].kind == IteratorKind::reduction;
    bool is_last = true;
    for (auto k = static_cast<std::size_t>(split.iterator) + 1; k < iterators.size(); ++k) {
      is_last = is_last && iterators[k].kind != IteratorKind::spatial;
    }
    if (follows && !is_last) {
      return;  // rows: their length is that of the other stage's tile
    }
    const std::size_t num_lengths = split.lengths.size();
    const bool is_block = num_lengths == 1 && !is_reduction && !is_last;
    const Operation& op = state.operation(stage);
    // Blocks of rows are chosen apart from the tiles inside of them.
    const bool is_behind_blocks =
        num_lengths > 1 && !stages.empty() && has_blocks_only(stages.back());
    if (names.empty() || names.back() != op.name || is_behind_blocks) {
      names.push_back(op.name);
      stages.emplace_back();
    }
    const TensorInfo& result = state.dag().tensor(op.outputs[0]);
    stages.back().push_back({step, split.extent, num_lengths, is_reduction, bytes_of(result.dtype),
                             is_block, follows, has_item(in_lanes, op.name),
                             tile_intrinsic(state.dag().pool(), op, intrinsics)});
  };
  for (std::size_t i = 0; i < sketch.steps().size(); ++i) {
    const Step& step = sketch.steps()[i];
    const SplitStep* split = std::get_if<SplitStep>(&step);
    const FollowSplitStep* follow = std::get_if<FollowSplitStep>(&step);
    const auto is_open = [](const SplitStep& other) {
      return has_item(other.lengths, unknown_length) && other.extent > 0;
    };
    if (split != nullptr && is_open(*split)) {
      add(i, *split, false);
    }
    if (follow != nullptr) {
      const auto& source = sketch.steps()[static_cast<std::size_t>(follow->source_step)];
      const SplitStep& followed = std::get<SplitStep>(source);
      if (is_open(followed) &&
          followed.lengths.size() == static_cast<std::size_t>(follow->num_split)) {
        add(i, SplitStep{follow->stage, follow->iterator, followed.extent, followed.lengths}, true);
      }
    }
    if (!try_step(state, step)) {
      return {};
    }
  }
  return stages;
}

/// Gives the splits of the stage these lengths, one list each; those that follow have none.
inline void set_lengths(std::vector<Step>& steps, const OpenStage& stage,
                        const std::vector<LengthList>& lengths) {
  for (std::size_t i = 0; i < stage.size(); ++i) {
    if (!stage[i].follows) {
      std::get<SplitStep>(steps[stage[i].step]).lengths = lengths[i];
    }
  }
}

}  // namespace tensorsmith::detail
