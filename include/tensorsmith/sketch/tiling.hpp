// SPDX-License-Identifier: Apache-2.0
// Multi-level tiling of a stage, and of a consumer that follows it.
//
// Floor 5. Ansor reference, ch. 4.3 (MultiLevelTiling, FollowTiling).
//
// tile_stage, structure "SSRSRS", matmul C[i, j] over k:
//     i j k  -->  i.0 j.0 i.1 j.1 k.0 i.2 j.2 k.1 i.3 j.3        (split lengths unknown)
// follow_tiling, level 1, consumer i j:
//     i j    -->  i.0 j.0 i.1 j.1                                (lengths follow those of C)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// Letter of a tiling structure; lower case is allowed.
inline bool is_spatial_level(char letter) { return letter == 'S' || letter == 's'; }

inline bool is_not_split(const State& state, std::int32_t stage, const std::string& iterator) {
  const auto& names = state.operation(static_cast<std::size_t>(stage)).attrs.no_split_at_inner;
  return has_item(names, iterator);
}

/// Splits every iterator and orders the parts by `structure`. Returns the indices of the split
/// steps of the spatial iterators, in iterator order. The iterators `held` stay whole and come
/// right behind the outermost level, spatial ones first. The spatial iterator `follower`, -1: none,
/// is split as the split step `source` says, which stands for its own in the answer.
inline std::vector<std::int32_t> tile_stage(State& state, std::int32_t stage,
                                            std::string_view structure, const IdList& held = {},
                                            std::int32_t follower = -1, std::int32_t source = -1) {
  const auto num_spatial_levels = count_items(structure, is_spatial_level);
  const std::size_t num_reduce_levels = structure.size() - num_spatial_levels;
  TENSORSMITH_ASSERT(num_spatial_levels > 0 && num_reduce_levels > 0,
                     "a tiling structure has S and R levels");
  std::vector<std::vector<std::int32_t>> spatial(num_spatial_levels);
  std::vector<std::vector<std::int32_t>> reduce(num_reduce_levels);
  std::vector<std::int32_t> whole_spatial, whole_reduce, held_spatial, held_reduce, spatial_splits;

  const auto before = state.stage(static_cast<std::size_t>(stage)).iterators;
  std::int32_t position = 0, number = 0;
  for (const auto& it : before) {
    const bool is_spatial = it.kind == IteratorKind::spatial;
    TENSORSMITH_ASSERT(is_spatial || it.kind == IteratorKind::reduction,
                       "tiling of a fused or special iterator");
    auto& levels = is_spatial ? spatial : reduce;
    const bool follows = number == follower;
    if (has_item(held, number++)) {
      (is_spatial ? held_spatial : held_reduce).push_back(position++);
      continue;
    }
    if (is_not_split(state, stage, it.name)) {
      (is_spatial ? whole_spatial : whole_reduce).push_back(position++);
      continue;
    }
    if (levels.size() > 1) {
      if (is_spatial) {
        spatial_splits.push_back(follows ? source
                                         : static_cast<std::int32_t>(state.steps().size()));
      }
      const LengthList open(levels.size() - 1, unknown_length);
      grow(state, follows ? Step(FollowSplitStep{stage, position, source,
                                                 static_cast<std::int32_t>(open.size())})
                          : Step(split_of(state, stage, position, open)));
    }
    for (auto& level : levels) {
      level.push_back(position++);
    }
  }
  spatial.back().insert(spatial.back().begin(), whole_spatial.begin(), whole_spatial.end());
  reduce.back().insert(reduce.back().begin(), whole_reduce.begin(), whole_reduce.end());

  ReorderStep order{stage, {}};
  std::size_t next_spatial = 0, next_reduce = 0;
  for (char letter : structure) {
    const auto& level = is_spatial_level(letter) ? spatial[next_spatial++] : reduce[next_reduce++];
    for (std::int32_t iterator : level) {
      order.after.push_back(iterator);
    }
    for (const auto* those : {&held_spatial, &held_reduce}) {
      for (std::int32_t iterator : *those) {
        order.after.push_back(iterator);
      }
    }
    held_spatial.clear();
    held_reduce.clear();
  }
  grow(state, order);
  return spatial_splits;
}

/// Splits every iterator of an untiled, purely spatial stage as `source_splits` say, into
/// `num_split` + 1 parts, and orders the parts level by level. Annotations of a split iterator
/// move: unroll and vectorize to the innermost part, parallel to the outermost.
inline void follow_tiling(State& state, std::int32_t stage,
                          const std::vector<std::int32_t>& source_splits, std::int32_t num_split) {
  const auto before = state.stage(static_cast<std::size_t>(stage)).iterators;
  std::vector<std::vector<std::int32_t>> levels(static_cast<std::size_t>(num_split) + 1);
  std::size_t next_source = 0;
  std::int32_t position = 0;
  for (const auto& it : before) {
    TENSORSMITH_ASSERT(it.kind == IteratorKind::spatial, "only spatial iterators can follow");
    if (is_not_split(state, stage, it.name)) {
      levels.back().push_back(position++);
      continue;
    }
    TENSORSMITH_ASSERT(next_source < source_splits.size(), "more iterators than splits to follow");
    grow(state, FollowSplitStep{stage, position, source_splits[next_source++], num_split});
    if (it.annotation == Annotation::unroll || it.annotation == Annotation::vectorize) {
      grow(state, AnnotationStep{stage, position + num_split, it.annotation});
    } else if (it.annotation == Annotation::parallel) {
      grow(state, AnnotationStep{stage, position, it.annotation});
    }
    for (auto& level : levels) {
      level.push_back(position++);
    }
  }
  TENSORSMITH_ASSERT(next_source == source_splits.size(), "fewer iterators than splits to follow");
  order_loops(state, stage, levels);
}

}  // namespace tensorsmith
