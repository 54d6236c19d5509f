// SPDX-License-Identifier: Apache-2.0
// What the compiler of a GPU makes of a kernel, as the latency model has it: what is written out,
// what is constant then, which loads are branches, and what few warps cannot hide.
#include "support/catch.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "unit/cost/gpu_fixtures.hpp"

namespace tensorsmith {
namespace {

GpuKernelTime kernel_of(const LoopProgram& program, const GpuModelOptions& options = {},
                        const char* board = "a100") {
  const auto latency = gpu_latency(program, *Target::from_name(board), options);
  REQUIRE(latency.has_value());
  REQUIRE(latency->kernels.size() == 1);
  return latency->kernels[0];
}

/// Each of 64 x 32 threads takes `count` elements of A to B, by a loop of that kind. `make(p, tx,
/// r)` gives the value.
template <class Make>
LoopProgram gathered(std::int64_t count, ForKind kind, const Make& make) {
  test::GpuProgram p;
  ExprPool& pool = p.program.pool;
  const std::int64_t size = 64 * 32 * count;
  const BufferId a = p.buffer("A", {size}), b = p.buffer("B", {size});
  const VarId bx = pool.new_var("bx"), tx = pool.new_var("tx"), r = pool.new_var("r");
  const ExprId at = p.mul_add(p.var(bx), 32 * count, p.mul_add(p.var(r), 32, p.var(tx)));
  const ExprId value = make(p, a, at, p.var(bx), p.var(tx), p.var(r));
  p.program.body =
      p.loop(bx, 64, ForKind::block_x,
             p.loop(tx, 32, ForKind::thread_x, p.loop(r, count, kind, p.store(b, {at}, value))));
  return std::move(p.program);
}

}  // namespace

TEST_CASE("our text limits how far nests over arrays of a thread are written out") {
  test::GpuProgram p;
  ExprPool& pool = p.program.pool;
  const BufferId a = p.buffer("A", {32, 16}), b = p.buffer("B", {64, 32, 32});
  const BufferId sums = p.buffer("sums", {32}, Scope::local);
  const VarId bx = pool.new_var("bx"), tx = pool.new_var("tx"), i = pool.new_var("i"),
              k = pool.new_var("k"), j = pool.new_var("j");
  const ExprId sum = pool.add(p.load(sums, {p.var(i)}), p.load(a, {p.var(i), p.var(k)}));
  const StmtId add = p.loop(i, 32, ForKind::serial,
                            p.loop(k, 16, ForKind::serial, p.store(sums, {p.var(i)}, sum)));
  const StmtId write =
      p.loop(j, 32, ForKind::unrolled,
             p.store(b, {p.var(bx), p.var(tx), p.var(j)}, p.load(sums, {p.var(j)})));
  p.program.body = p.loop(bx, 64, ForKind::block_x,
                          p.loop(tx, 32, ForKind::thread_x, p.alloc(sums, p.seq({add, write}))));
  GpuModelOptions other;
  other.is_own_text = false;
  CHECK(kernel_of(p.program).work.private_bytes > 0);
  CHECK(kernel_of(p.program, other).work.private_bytes == 0);
}

TEST_CASE("an array whose indices are constants stays in registers inside of a loop that is left") {
  test::GpuProgram p;
  ExprPool& pool = p.program.pool;
  const BufferId a = p.buffer("A", {512, 8}), b = p.buffer("B", {64, 32, 8});
  const BufferId sums = p.buffer("sums", {8}, Scope::local);
  const VarId bx = pool.new_var("bx"), tx = pool.new_var("tx"), i = pool.new_var("i"),
              k = pool.new_var("k"), j = pool.new_var("j");
  const ExprId sum = pool.add(p.load(sums, {p.var(i)}), p.load(a, {p.var(k), p.var(i)}));
  const StmtId add = p.loop(i, 8, ForKind::unrolled,
                            p.loop(k, 512, ForKind::serial, p.store(sums, {p.var(i)}, sum)));
  const StmtId write =
      p.loop(j, 8, ForKind::unrolled,
             p.store(b, {p.var(bx), p.var(tx), p.var(j)}, p.load(sums, {p.var(j)})));
  p.program.body = p.loop(bx, 64, ForKind::block_x,
                          p.loop(tx, 32, ForKind::thread_x, p.alloc(sums, p.seq({add, write}))));
  CHECK(kernel_of(p.program).work.private_bytes == 0);
}

TEST_CASE("quotients are computed as often as what is no constant in them changes") {
  const auto integers = [](const auto& quotient) {
    return kernel_of(gathered(8, ForKind::unrolled,
                              [&](test::GpuProgram& p, BufferId a, ExprId, ExprId, ExprId tx,
                                  ExprId r) { return p.load(a, {quotient(p, tx, r)}); }))
        .work.integer;
  };
  CHECK(integers([](test::GpuProgram& p, ExprId, ExprId r) {
          return p.program.pool.floordiv(r, p.imm(3));
        }) == 0);
  const double once = integers([](test::GpuProgram& p, ExprId tx, ExprId r) {
    return p.program.pool.add(p.program.pool.floordiv(tx, p.imm(3)), r);
  });
  CHECK(once > 0);
  CHECK(integers([](test::GpuProgram& p, ExprId tx, ExprId r) {
          return p.program.pool.floordiv(p.mul_add(r, 32, tx), p.imm(3));
        }) == 8 * once);
}

TEST_CASE("a loop with many quotients is not written out, so each turn waits for its load") {
  const auto clocks = [](std::int64_t count, bool has_quotients) {
    return kernel_of(gathered(count, ForKind::serial,
                              [&](test::GpuProgram& p, BufferId a, ExprId at, ExprId, ExprId tx,
                                  ExprId r) {
                                ExprPool& pool = p.program.pool;
                                const ExprId e = p.mul_add(r, 32, tx);
                                return p.load(a, {has_quotients
                                                      ? p.mul_add(pool.floordiv(e, p.imm(7)), 9,
                                                                  pool.floormod(e, p.imm(7)))
                                                      : at});
                              }))
        .work.path_clocks;
  };
  CHECK(clocks(64, true) > 5 * clocks(64, false));
  CHECK(clocks(16, true) < 2 * clocks(16, false));
}

TEST_CASE("a load behind a condition waits alone where all threads agree about it") {
  const auto clocks = [](bool agree) {
    return kernel_of(gathered(16, ForKind::unrolled,
                              [&](test::GpuProgram& p, BufferId a, ExprId at, ExprId bx, ExprId tx,
                                  ExprId r) {
                                ExprPool& pool = p.program.pool;
                                const ExprId sum = pool.add(agree ? bx : tx, r);
                                return pool.call(
                                    CallOp::if_then_else,
                                    {pool.lt(sum, p.imm(20)), p.load(a, {at}), pool.float_imm(0)});
                              }))
        .work.path_clocks;
  };
  CHECK(clocks(true) > 4 * clocks(false));
}

TEST_CASE("one warp per scheduler uses the units of its SM one after the other") {
  // 100 blocks of two warps for 108 SMs.
  const GpuKernelTime time = kernel_of(test::gemm_program(test::GemmTiles{320, 32, 4, 16, false}));
  CHECK(time.ns > time.issue_ns + time.shared_ns + time.l1_ns + time.l2_ns);
  const GpuKernelTime many = kernel_of(test::gemm_program(test::GemmTiles{2048, 64, 4, 16, false}));
  CHECK(many.ns < many.issue_ns + many.shared_ns + many.l1_ns + many.l2_ns);
}

TEST_CASE("what all blocks read alike comes from L2 once per SM") {
  test::GpuProgram p;
  ExprPool& pool = p.program.pool;
  constexpr std::int64_t blocks = 8192, threads = 256;
  const BufferId a = p.buffer("A", {blocks, threads}), factors = p.buffer("factors", {threads}),
                 b = p.buffer("B", {blocks, threads});
  const VarId bx = pool.new_var("bx"), tx = pool.new_var("tx");
  const ExprId product = pool.mul(p.load(a, {p.var(bx), p.var(tx)}), p.load(factors, {p.var(tx)}));
  p.program.body =
      p.loop(bx, blocks, ForKind::block_x,
             p.loop(tx, threads, ForKind::thread_x, p.store(b, {p.var(bx), p.var(tx)}, product)));
  CHECK(kernel_of(p.program).l2_bytes == test::Approx(4.0 * threads * (2 * blocks + 108)));
}

}  // namespace tensorsmith
