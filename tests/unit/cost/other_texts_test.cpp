// SPDX-License-Identifier: Apache-2.0
// Texts of GPU kernels that are not ours: what the reference writes out, what the compiler makes of
// the loops that are left, and what a copy that is written out in part costs.
#include "support/catch.hpp"
#include "tensorsmith/codegen/compiler_unrolling.hpp"
#include "tensorsmith/codegen/reference_unrolling.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/sched/schedule.hpp"
#include "unit/cost/gpu_fixtures.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

/// Kinds of the loops k in 8, j in 4 and i in 4, from the outside, around a store to C, once the
/// reference has seen the stage of C with that pragma.
std::vector<ForKind> kinds_by_pragma(std::int32_t pragma, const char* innermost = "i") {
  ScheduleBuilder s(test::matmul_dag(64, 64, 64));
  if (pragma > 0) {
    s.auto_unroll(2, 0, pragma);
  }
  test::GpuProgram p;
  ExprPool& pool = p.program.pool;
  const BufferId c = p.buffer("C", {32, 8, 4, 4});
  const VarId tx = pool.new_var("tx"), k = pool.new_var("k"), j = pool.new_var("j"),
              i = pool.new_var(innermost);
  const StmtId inner =
      p.loop(i, 4, ForKind::unrolled,
             p.store(c, {p.var(tx), p.var(k), p.var(j), p.var(i)}, pool.float_imm(1)));
  const StmtId middle = p.loop(j, 4, ForKind::unrolled, inner);
  const StmtId outer = p.loop(k, 8, ForKind::serial, middle);
  p.program.body = p.loop(tx, 32, ForKind::thread_x, outer);
  unroll_as_reference(p.program, s.state());
  std::vector<ForKind> kinds;
  for (const StmtId id : {outer, middle, inner}) {
    kinds.push_back(p.program.as<For>(id)->kind);
  }
  return kinds;
}

/// What the compiler makes of `for r in count: for i in 8: target[of r or i] += from[r, i]`.
struct Sum {
  Scope from = Scope::shared, target = Scope::local;
  bool is_numbered = false;  ///< r, not i, is the target's index
};
std::int64_t turns_at_once(std::int64_t count, const Sum& sum) {
  test::GpuProgram p;
  ExprPool& pool = p.program.pool;
  const BufferId from = p.buffer("from", {count, 8}, sum.from);
  const BufferId target = p.buffer("target", {count}, sum.target);
  const VarId r = pool.new_var("r"), i = pool.new_var("i");
  const ExprId at = sum.is_numbered ? p.var(r) : p.imm(0);
  const ExprId value = pool.add(p.load(target, {at}), p.load(from, {p.var(r), p.var(i)}));
  const StmtId loop = p.loop(r, count, ForKind::serial,
                             p.loop(i, 8, ForKind::unrolled, p.store(target, {at}, value)));
  CompilerUnrolling compiler(p.program);
  return compiler.factor(*p.program.as<For>(loop));
}

/// Each thread of 32 copies `count` elements into shared memory; clocks of the path.
double copy_clocks(std::int64_t count, ForKind kind) {
  test::GpuProgram p;
  ExprPool& pool = p.program.pool;
  const BufferId a = p.buffer("A", {64, count, 32}), b = p.buffer("B", {64, 32});
  const BufferId s = p.buffer("s", {count, 32}, Scope::shared);
  const VarId bx = pool.new_var("bx"), tx = pool.new_var("tx"), r = pool.new_var("r");
  const StmtId copy =
      p.loop(r, count, kind,
             p.store(s, {p.var(r), p.var(tx)}, p.load(a, {p.var(bx), p.var(r), p.var(tx)})));
  const StmtId use = p.store(b, {p.var(bx), p.var(tx)}, p.load(s, {p.imm(0), p.var(tx)}));
  p.program.body =
      p.loop(bx, 64, ForKind::block_x,
             p.alloc(s, p.loop(tx, 32, ForKind::thread_x, p.seq({copy, p.barrier(), use}))));
  GpuModelOptions options;
  options.is_own_text = false;
  const auto latency = gpu_latency(p.program, *Target::from_name("a100"), options);
  REQUIRE(latency.has_value());
  return latency->kernels[0].work.path_clocks;
}

}  // namespace

TEST_CASE("the reference writes out loops up to the pragma's number of stores") {
  constexpr ForKind serial = ForKind::serial, unrolled = ForKind::unrolled;
  CHECK(kinds_by_pragma(0) == std::vector{serial, serial, serial});
  CHECK(kinds_by_pragma(15) == std::vector{serial, serial, unrolled});
  CHECK(kinds_by_pragma(16) == std::vector{serial, unrolled, unrolled});
  CHECK(kinds_by_pragma(128) == std::vector{unrolled, unrolled, unrolled});
  // A few virtual threads stand one after the other in any case.
  CHECK(kinds_by_pragma(0, "v") == std::vector{serial, serial, unrolled});
}

TEST_CASE("the compiler writes out loops over arrays of a thread further than other sums") {
  CHECK(turns_at_once(64, {}) == 64);  // 512 terms
  CHECK(turns_at_once(128, {}) == 4);  // 32 at once
  CHECK(turns_at_once(16, {Scope::global}) == 16);
  CHECK(turns_at_once(32, {Scope::global}) == 4);
  CHECK(turns_at_once(128, {Scope::shared, Scope::local, true}) == 128);
  CHECK(turns_at_once(512, {Scope::shared, Scope::local, true}) == 1);
}

TEST_CASE("a copy that is written out in part waits between its turns") {
  const double straight = copy_clocks(128, ForKind::unrolled);
  CHECK(copy_clocks(96, ForKind::serial) < straight);
  CHECK(copy_clocks(128, ForKind::serial) >= straight + 2 * GpuDelays{}.l2);
  CHECK(copy_clocks(192, ForKind::serial) >=
        copy_clocks(192, ForKind::unrolled) + 4 * GpuDelays{}.l2);
}

}  // namespace tensorsmith
