// SPDX-License-Identifier: Apache-2.0
// shared_product: a matrix product for GPUs whose operands are copied to shared memory.
#pragma once

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/bounds.hpp"

namespace tensorsmith::test {

struct SharedProductTiles {
  std::int64_t threads;     ///< of a block, along rows and along columns
  std::int64_t per_thread;  ///< rows and columns of a thread's tile
  std::int64_t depth;       ///< terms that are copied at a time
};

/// Of the program `C = A * B`, with `pragma` on the loop of its sum.
inline State shared_product(const Shared<const ComputeDag>& dag, const SharedProductTiles& tiles,
                            const std::string& pragma) {
  State state = State::initial(dag);
  const auto apply = [&](const Step& step) {
    const auto error = try_apply(state, step);
    REQUIRE(!error);
  };
  const Operation& op = state.operation(2);
  apply(SplitStep{2, 0, op.axes[0].extent, {tiles.threads, tiles.per_thread}, true});
  apply(SplitStep{2, 3, op.axes[1].extent, {tiles.threads, tiles.per_thread}, true});
  apply(SplitStep{2, 6, op.reduce_axes[0].extent, {tiles.depth}, true});
  apply(ReorderStep{2, {0, 3, 1, 4, 6, 7, 2, 5}});
  apply(AnnotationStep{2, 0, Annotation::block_y});
  apply(AnnotationStep{2, 1, Annotation::block_x});
  apply(AnnotationStep{2, 2, Annotation::thread_y});
  apply(AnnotationStep{2, 3, Annotation::thread_x});
  apply(CacheReadStep{1, "shared", {2}});
  apply(CacheReadStep{0, "shared", {3}});
  for (const std::int32_t copy : {3, 1}) {
    apply(ComputeAtStep{copy, 4, 4});
    apply(FuseStep{copy, {0, 1}});
    apply(SplitStep{copy, 0, 0, {tiles.threads, tiles.threads}, true});
    apply(AnnotationStep{copy, 1, Annotation::thread_y});
    apply(AnnotationStep{copy, 2, Annotation::thread_x});
  }
  apply(PragmaStep{4, 0, pragma});
  const auto bounded = infer_bounds(state);
  REQUIRE(bounded);
  return *bounded;
}

}  // namespace tensorsmith::test
