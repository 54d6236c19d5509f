// SPDX-License-Identifier: Apache-2.0
// Kernels of the form that lowering gives (docs/gpu.md), written by hand.
#pragma once

#include <utility>

#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith::test {

/// Shorthand for one program.
class GpuProgram {
 public:
  LoopProgram program;

  ExprId imm(std::int64_t value) { return program.pool.int_imm(value); }
  ExprId var(VarId id) { return program.pool.var(id); }
  ExprId mul_add(ExprId a, std::int64_t factor, ExprId b) {
    return program.pool.add(program.pool.mul(a, imm(factor)), b);
  }
  BufferId buffer(std::string name, SmallVector<std::int64_t, 6> shape,
                  Scope scope = Scope::global) {
    Buffer added{std::move(name), DType::f32, std::move(shape), {}};
    added.scope = scope;
    if (scope == Scope::global) {
      added.argument = static_cast<std::int32_t>(program.arguments.size());
    }
    const BufferId id = program.add(std::move(added));
    if (scope == Scope::global) {
      program.arguments.push_back(id);
    }
    return id;
  }
  ExprId load(BufferId id, ExprList indices) {
    return program.pool.load(id, DType::f32, std::move(indices));
  }
  StmtId store(BufferId id, ExprList indices, ExprId value) {
    return program.add(Store{id, std::move(indices), value});
  }
  StmtId loop(VarId id, std::int64_t extent, ForKind kind, StmtId body) {
    return program.add(For{id, imm(extent), kind, body});
  }
  StmtId alloc(BufferId id, StmtId body) { return program.add(Alloc{id, body}); }
  StmtId barrier() { return program.add(Barrier{Scope::shared}); }
  StmtId seq(std::vector<StmtId> items) { return program.add(Seq{std::move(items)}); }
};

/// B[i] = A[i * stride], `blocks` times `threads` elements.
inline LoopProgram copy_program(std::int64_t blocks, std::int64_t threads,
                                std::int64_t stride = 1) {
  GpuProgram p;
  const std::int64_t count = blocks * threads;
  const BufferId a = p.buffer("A", {count * stride}), b = p.buffer("B", {count});
  const VarId bx = p.program.pool.new_var("bx"), tx = p.program.pool.new_var("tx");
  const ExprId i = p.mul_add(p.var(bx), threads, p.var(tx));
  const ExprId from = p.program.pool.mul(i, p.imm(stride));
  p.program.body =
      p.loop(bx, blocks, ForKind::block_x,
             p.loop(tx, threads, ForKind::thread_x, p.store(b, {i}, p.load(a, {from}))));
  return std::move(p.program);
}

/// B[j, i] = A[i, j] for n x n, in tiles of 32 x 32 whose rows in shared memory have `padding`
/// more.
inline LoopProgram transpose_program(std::int64_t n, std::int64_t padding) {
  GpuProgram p;
  const BufferId a = p.buffer("A", {n, n}), b = p.buffer("B", {n, n});
  Buffer square{"tile", DType::f32, {32, 32}, {32 + padding, 1}};
  square.scope = Scope::shared;
  const BufferId tile = p.program.add(std::move(square));
  ExprPool& pool = p.program.pool;
  const VarId bx = pool.new_var("bx"), by = pool.new_var("by"), tx = pool.new_var("tx"),
              ty = pool.new_var("ty");
  const auto at = [&](VarId block, VarId thread) {
    return p.mul_add(p.var(block), 32, p.var(thread));
  };
  const StmtId in = p.store(tile, {p.var(ty), p.var(tx)}, p.load(a, {at(by, ty), at(bx, tx)}));
  const StmtId out = p.store(b, {at(bx, ty), at(by, tx)}, p.load(tile, {p.var(tx), p.var(ty)}));
  const StmtId threads = p.loop(ty, 32, ForKind::thread_y,
                                p.loop(tx, 32, ForKind::thread_x, p.seq({in, p.barrier(), out})));
  p.program.body = p.loop(by, n / 32, ForKind::block_y,
                          p.loop(bx, n / 32, ForKind::block_x, p.alloc(tile, threads)));
  return std::move(p.program);
}

struct GemmTiles {
  std::int64_t n = 1024;    ///< C[n, n]
  std::int64_t block = 64;  ///< rows and columns of a block
  std::int64_t thread = 4;  ///< rows and columns of a thread
  std::int64_t steps = 16;  ///< of the reduction, in shared memory at a time
  bool is_fetched_wide = false;
};

/// A tiled matrix product through shared memory: a block fetches its rows of A and columns of B,
/// each thread adds up thread x thread elements in registers.
inline LoopProgram gemm_program(const GemmTiles& t) {
  GpuProgram p;
  ExprPool& pool = p.program.pool;
  const std::int64_t side = t.block / t.thread, threads = side * side, tiles = t.n / t.block;
  const BufferId a = p.buffer("A", {t.n, t.n}), b = p.buffer("B", {t.n, t.n}),
                 c = p.buffer("C", {t.n, t.n});
  Buffer rows{"A_shared", DType::f32, {t.block, t.steps}, {}};
  rows.scope = Scope::shared;
  const BufferId a_shared = p.program.add(std::move(rows));
  const BufferId b_shared = p.buffer("B_shared", {t.steps, t.block}, Scope::shared);
  const BufferId sums = p.buffer("sums", {t.thread, t.thread}, Scope::register_);
  const VarId bx = pool.new_var("bx"), tx = pool.new_var("tx"), k0 = pool.new_var("k0");
  const ExprId row = pool.mul(pool.floordiv(p.var(bx), p.imm(tiles)), p.imm(t.block));
  const ExprId column = pool.mul(pool.floormod(p.var(bx), p.imm(tiles)), p.imm(t.block));
  const ExprId ty = pool.mul(pool.floordiv(p.var(tx), p.imm(side)), p.imm(t.thread));
  const ExprId tc = pool.mul(pool.floormod(p.var(tx), p.imm(side)), p.imm(t.thread));
  const ExprId first_k = pool.mul(p.var(k0), p.imm(t.steps));

  // Element e of a tile of `width` columns, by all threads in turn.
  const auto fetch = [&](BufferId to, BufferId from, std::int64_t width, ExprId y, ExprId x) {
    const std::int64_t lanes = t.is_fetched_wide ? 4 : 1;
    const VarId turn = pool.new_var("turn"), lane = pool.new_var("lane");
    const ExprId e =
        pool.add(pool.mul(p.mul_add(p.var(turn), threads, p.var(tx)), p.imm(lanes)), p.var(lane));
    const ExprId i = pool.floordiv(e, p.imm(width)), j = pool.floormod(e, p.imm(width));
    const StmtId one = p.store(to, {i, j}, p.load(from, {pool.add(y, i), pool.add(x, j)}));
    return p.loop(turn, t.block * t.steps / (threads * lanes), ForKind::unrolled,
                  p.loop(lane, lanes, ForKind::vectorized, one));
  };
  const auto tile = [&](const auto& body) {
    const VarId i = pool.new_var("i"), j = pool.new_var("j");
    return p.loop(i, t.thread, ForKind::unrolled,
                  p.loop(j, t.thread, ForKind::unrolled, body(p.var(i), p.var(j))));
  };
  const VarId k = pool.new_var("k");
  const StmtId product =
      p.loop(k, t.steps, ForKind::unrolled, tile([&](ExprId i, ExprId j) {
               const ExprId term = pool.mul(p.load(a_shared, {pool.add(ty, i), p.var(k)}),
                                            p.load(b_shared, {p.var(k), pool.add(tc, j)}));
               return p.store(sums, {i, j}, pool.add(p.load(sums, {i, j}), term));
             }));
  const StmtId zero = tile([&](ExprId i, ExprId j) {
    return p.store(sums, {i, j}, pool.float_imm(0));
  });
  const StmtId write = tile([&](ExprId i, ExprId j) {
    return p.store(c, {pool.add(row, pool.add(ty, i)), pool.add(column, pool.add(tc, j))},
                   p.load(sums, {i, j}));
  });
  const StmtId body =
      p.loop(k0, t.n / t.steps, ForKind::serial,
             p.seq({p.barrier(), fetch(a_shared, a, t.steps, row, first_k),
                    fetch(b_shared, b, t.block, first_k, column), p.barrier(), product}));
  const StmtId thread =
      p.loop(tx, threads, ForKind::thread_x, p.alloc(sums, p.seq({zero, body, write})));
  p.program.body =
      p.loop(bx, tiles * tiles, ForKind::block_x, p.alloc(a_shared, p.alloc(b_shared, thread)));
  return std::move(p.program);
}

}  // namespace tensorsmith::test
