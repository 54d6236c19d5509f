// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/is_regular.hpp"

#include "support/catch.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {
namespace {

/// A 1 x 1 convolution on 14 x 14 pixels, which run as one loop: tiles of 16 channels, `pixels` of
/// them at a time in `num_tiles` tiles per block, blocks copied to the result.
LoopProgram convolution(std::int64_t num_tiles, std::int64_t pixels) {
  const auto workload = ops::parse_workload("conv2d:n=1,h=14,w=14,ci=8,co=32,k=1,layout=nchw");
  REQUIRE(workload);
  State state = State::initial(workload->dag);
  const std::int32_t blocks[] = {0, 4, 8, 1, 5, 9, 12, 14, 16, 2, 6, 10, 13, 15, 17, 3, 7, 11};
  ReorderStep order{2, {}};
  for (std::int32_t loop : blocks) {
    order.after.push_back(loop);
  }
  const std::vector<Step> steps = {CacheWriteStep{2, "local"},
                                   FuseStep{2, {2, 3}},
                                   FuseStep{3, {2, 3}},
                                   SplitStep{2, 0, 1, {1, 1, 1}, true},
                                   SplitStep{2, 4, 32, {2, 1, 16}, true},
                                   SplitStep{2, 8, 196, {1, num_tiles, pixels}, true},
                                   SplitStep{2, 12, 8, {8}, true},
                                   SplitStep{2, 14, 1, {1}, true},
                                   SplitStep{2, 16, 1, {1}, true},
                                   order,
                                   FollowSplitStep{3, 0, 3, 2},
                                   FollowSplitStep{3, 3, 4, 2},
                                   FollowSplitStep{3, 6, 5, 2},
                                   ReorderStep{3, {0, 3, 6, 1, 4, 7, 2, 5, 8}},
                                   ComputeAtStep{2, 3, 5},
                                   AnnotationStep{2, 17, Annotation::vectorize}};
  for (const Step& step : steps) {
    REQUIRE(!try_apply(state, step));
  }
  const auto program = lower(state, *Target::from_name("znver4"));
  REQUIRE(program);
  return *program;
}

}  // namespace

TEST_CASE("a tile whose elements are stored by conditions of their own is not regular") {
  CHECK(is_regular(convolution(1, 14)));
  CHECK(is_regular(convolution(1, 196)));
  CHECK(is_regular(convolution(7, 16)));  // blocks of eight rows, and of the rest
  CHECK(is_regular(convolution(2, 22)));
  LoopProgram guarded = convolution(1, 14);
  for (std::size_t k = 0, count = guarded.stmts.size(); k < count; ++k) {
    const Store* store = std::get_if<Store>(&guarded.stmts[k]);
    if (store != nullptr && guarded[store->buffer].scope == Scope::register_) {
      const StmtId inner = guarded.add(Stmt(*store));
      const ExprId condition = guarded.pool.lt(guarded.pool.int_imm(0), guarded.pool.int_imm(1));
      guarded.stmts[k] = If{condition, inner, {}};
    }
  }
  CHECK_FALSE(is_regular(guarded));
  CHECK(detail::has_guard_in_tile(guarded, guarded.body));
}

TEST_CASE("a column's sum in blocks of terms is regular, its sum in memory is not") {
  const auto workload = ops::parse_workload("M[j:64] += X[i:4096,j]");
  REQUIRE(workload);
  const auto lowered = [&](const std::vector<Step>& steps) {
    State state = State::initial(workload->dag);
    for (const Step& step : steps) {
      REQUIRE(!try_apply(state, step));
    }
    const auto program = lower(state, *Target::from_name("znver4"));
    REQUIRE(program);
    return *program;
  };
  const LoopProgram in_blocks =
      lowered({SplitStep{1, 0, 64, {16}, true}, ReorderStep{1, {0, 2, 1}}});
  std::size_t num_blocks = 0;  // added to memory from a register
  for (const auto& stmt : in_blocks.stmts) {
    const Store* store = std::get_if<Store>(&stmt);
    num_blocks += store != nullptr && in_blocks[store->buffer].scope != Scope::register_ &&
                          has_load(in_blocks.pool, store->value)
                      ? 1
                      : 0;
  }
  CHECK(num_blocks > 0);
  CHECK(is_regular(in_blocks));
  CHECK_FALSE(is_regular(lowered({SplitStep{1, 1, 4096, {64}, true}, ReorderStep{1, {1, 0, 2}}})));
}

}  // namespace tensorsmith
