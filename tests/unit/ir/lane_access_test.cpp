// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/lane_access.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

/// A buffer of a warp in a block of 16 x 2 threads.
struct Block {
  LoopProgram p;
  ExprPool& e = p.pool;
  VarId tx = e.new_var("tx"), ty = e.new_var("ty"), other = e.new_var("i");
  ThreadAxes axes{{tx, ty, {}}, {16, 2, 1}};
  BufferId lanes = p.add(Buffer{"L", DType::f32, {1, 2, 16}, {}, Scope::warp});

  ExprId n(std::int64_t value) { return e.int_imm(value); }
  std::optional<std::int64_t> distance(ExprId x) {
    return lane_distance(p, lanes, {n(0), e.var(ty), x}, axes);
  }
};

}  // namespace

TEST_CASE_METHOD(Block, "an index that is x xor a power of two is known, however it is written") {
  const ExprId x = e.var(tx);
  CHECK(distance(x) == 0);
  for (const std::int64_t d : {1, 2, 4, 8}) {
    CHECK(distance(xor_index(e, x, d)) == d);
  }
  const ExprId swapped = e.add(e.mul(e.floordiv(x, n(2)), n(2)), e.sub(n(1), e.floormod(x, n(2))));
  CHECK(distance(swapped) == 1);
}

TEST_CASE_METHOD(Block, "other indices are none of lanes") {
  const ExprId x = e.var(tx);
  CHECK(!distance(xor_index(e, x, 16)));  // behind the row's end
  CHECK(!distance(e.floormod(e.add(x, n(1)), n(16))));
  CHECK(!distance(e.sub(n(15), x)));  // x xor 15
  CHECK(!distance(n(0)));
  CHECK(!distance(e.var(other)));
  CHECK(!lane_distance(p, lanes, {n(0), n(1), x}, axes));
  CHECK(!lane_distance(p, lanes, {n(0), e.var(other), x}, axes));
  const BufferId small = p.add(Buffer{"S", DType::f32, {1, 2, 8}, {}, Scope::warp});
  CHECK(!lane_distance(p, small, {n(0), e.var(ty), x}, axes));
  const BufferId flat = p.add(Buffer{"F", DType::f32, {16}, {}, Scope::warp});
  CHECK(!lane_distance(p, flat, {x}, axes));
}

TEST_CASE_METHOD(Block, "what stands in front of the threads' numbers is the thread's business") {
  const BufferId two = p.add(Buffer{"T", DType::f32, {2, 1, 2, 16}, {}, Scope::warp});
  const ExprId x = e.var(tx);
  CHECK(lane_distance(p, two, {e.var(other), n(0), e.var(ty), xor_index(e, x, 4)}, axes) == 4);
}
