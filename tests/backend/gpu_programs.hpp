// SPDX-License-Identifier: Apache-2.0
// Loop programs for GPUs, made by hand, each with a plain program of the same meaning.
//
// Test support of this folder. The form is that of lowered programs: blocks, shared buffers,
// threads, one thread's work, barriers between.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith::test {

struct GpuCase {
  std::string name;
  LoopProgram program;
  LoopProgram plain;   ///< the same arguments
  double bound = 0.0;  ///< of the difference; 0 = bit for bit
};

/// Short names for building loop programs by hand.
struct GpuBuild {
  LoopProgram p;

  BufferId arg(std::string name, SmallVector<std::int64_t, 6> shape, DType type = DType::f32) {
    const BufferId id = temp(std::move(name), shape, Scope::global, type);
    p[id].argument = static_cast<std::int32_t>(p.arguments.size());
    p.arguments.push_back(id);
    return id;
  }
  BufferId temp(std::string name, SmallVector<std::int64_t, 6> shape, Scope scope,
                DType type = DType::f32) {
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.dtype = type;
    buffer.shape = shape;
    buffer.scope = scope;
    return p.add(std::move(buffer));
  }
  VarId var(const char* name) { return p.pool.new_var(name); }
  ExprId v(VarId id) { return p.pool.var(id); }
  ExprId n(std::int64_t value) { return p.pool.int_imm(value); }
  /// A constant of any type.
  ExprId c(double value, DType type) {
    return is_float(type) ? p.pool.float_imm(value, type)
                          : p.pool.int_imm(static_cast<std::int64_t>(value), type);
  }
  ExprId add(ExprId a, ExprId b) { return p.pool.add(a, b); }
  ExprId mul(ExprId a, ExprId b) { return p.pool.mul(a, b); }
  ExprId load(BufferId b, ExprList at) { return p.pool.load(b, p[b].dtype, std::move(at)); }
  /// The value in another type, converted only if it is another one.
  ExprId as(DType type, ExprId value) {
    return p.pool.dtype(value) == type ? value : p.pool.cast(type, value);
  }
  StmtId store(BufferId b, ExprList at, ExprId value) {
    return p.add(Stmt(Store{b, std::move(at), value}));
  }
  StmtId loop(VarId id, std::int64_t extent, StmtId body, ForKind kind = ForKind::serial) {
    return p.add(Stmt(For{id, n(extent), kind, body}));
  }
  StmtId seq(std::vector<StmtId> items) { return p.add(Stmt(Seq{std::move(items)})); }
  StmtId alloc(BufferId b, StmtId body) { return p.add(Stmt(Alloc{b, body})); }
  StmtId when(ExprId condition, StmtId then_body, StmtId else_body = {}) {
    return p.add(Stmt(If{condition, then_body, else_body}));
  }
  StmtId barrier() { return p.add(Stmt(Barrier{Scope::shared})); }
};

/// y = x * x + y over `count` elements; each thread has `lanes` neighbours, the last ones guarded.
inline GpuCase elementwise_case(DType type, std::int64_t count, std::int64_t threads,
                                std::int64_t lanes) {
  const auto statement = [&](GpuBuild& b, BufferId x, BufferId y, ExprId at) {
    const ExprId value = b.load(x, {at});
    return b.store(y, {at}, b.add(b.mul(value, value), b.load(y, {at})));
  };
  GpuBuild plain, b;
  const BufferId px = plain.arg("x", {count}, type), py = plain.arg("y", {count}, type);
  const VarId i = plain.var("i");
  plain.p.body = plain.loop(i, count, statement(plain, px, py, plain.v(i)));

  const BufferId x = b.arg("x", {count}, type), y = b.arg("y", {count}, type);
  const VarId bx = b.var("i.0"), tx = b.var("i.1"), l = b.var("i.2");
  const std::int64_t per_block = threads * lanes, blocks = (count + per_block - 1) / per_block;
  const ExprId first = b.mul(b.add(b.mul(b.v(bx), b.n(threads)), b.v(tx)), b.n(lanes));
  StmtId body = b.loop(l, lanes, statement(b, x, y, b.add(first, b.v(l))), ForKind::vectorized);
  if (count % per_block != 0) {
    body = b.when(b.p.pool.lt(first, b.n(count)), body);
  }
  b.p.body = b.loop(bx, blocks, b.loop(tx, threads, body, ForKind::thread_x), ForKind::block_x);
  return {"elementwise_" + std::string(name_of(type)) + "_" + std::to_string(lanes), std::move(b.p),
          std::move(plain.p), is_float(type) ? 1e-2 : 0.0};
}

/// C[m, n] = A[m, k] * B[k, n] in `sum_type`: blocks of 32 x 32, 8 x 8 threads with 4 x 4 elements
/// each, A transposed while it is stored to shared memory. A side that is no multiple of 32 is
/// guarded and read element by element.
inline GpuCase gemm_case(DType type, DType sum_type, std::int64_t m, std::int64_t n,
                         std::int64_t k) {
  GpuBuild plain;
  {
    const BufferId A = plain.arg("A", {m, k}, type), B = plain.arg("B", {k, n}, type),
                   C = plain.arg("C", {m, n}, sum_type);
    const VarId i = plain.var("i"), j = plain.var("j"), r = plain.var("k");
    const ExprList at{plain.v(i), plain.v(j)};
    const ExprId product = plain.mul(plain.as(sum_type, plain.load(A, {plain.v(i), plain.v(r)})),
                                     plain.as(sum_type, plain.load(B, {plain.v(r), plain.v(j)})));
    const StmtId zero = plain.store(C, at, plain.c(0, sum_type));
    const StmtId update = plain.store(C, at, plain.add(plain.load(C, at), product));
    plain.p.body = plain.loop(i, m, plain.loop(j, n, plain.seq({zero, plain.loop(r, k, update)})));
  }
  constexpr std::int64_t tile = 32, depth = 8, side = 4, threads = 8;
  GpuBuild b;
  ExprPool& pool = b.p.pool;
  const BufferId A = b.arg("A", {m, k}, type), B = b.arg("B", {k, n}, type),
                 C = b.arg("C", {m, n}, sum_type);
  const BufferId As = b.temp("A.shared", {depth, tile + 4}, Scope::shared, type),
                 Bs = b.temp("B.shared", {depth, tile}, Scope::shared, type),
                 acc = b.temp("C.local", {side, side}, Scope::local, sum_type),
                 left = b.temp("A.local", {side}, Scope::register_, type),
                 right = b.temp("B.local", {side}, Scope::register_, type);
  const bool whole = m % tile == 0 && n % tile == 0 && k % depth == 0;
  const VarId by = b.var("i.0"), bx = b.var("j.0"), ty = b.var("i.1"), tx = b.var("j.1"),
              ko = b.var("k.0");
  const ExprId thread = b.add(b.mul(b.v(ty), b.n(threads)), b.v(tx));
  const ExprId row0 = b.mul(b.v(by), b.n(tile)), column0 = b.mul(b.v(bx), b.n(tile)),
               depth0 = b.mul(b.v(ko), b.n(depth));
  const auto guarded = [&](ExprId value, ExprId row, std::int64_t rows, ExprId column,
                           std::int64_t columns) {
    if (whole) {
      return value;
    }
    const ExprId inside = pool.and_(pool.lt(row, b.n(rows)), pool.lt(column, b.n(columns)));
    return pool.if_then_else(inside, value, b.c(0, type));
  };
  // Both fetches move 32 x 8 elements: 64 threads, 4 each.
  const VarId va = b.var("v"), vb = b.var("v");
  const ExprId a_row = pool.floordiv(thread, b.n(2)),
               a_depth = b.add(b.mul(pool.floormod(thread, b.n(2)), b.n(4)), b.v(va)),
               b_depth = pool.floordiv(thread, b.n(8)),
               b_column = b.add(b.mul(pool.floormod(thread, b.n(8)), b.n(4)), b.v(vb));
  const ExprId ga = b.add(row0, a_row), gka = b.add(depth0, a_depth), gkb = b.add(depth0, b_depth),
               gb = b.add(column0, b_column);
  const StmtId fetch_a =
      b.loop(va, 4, b.store(As, {a_depth, a_row}, guarded(b.load(A, {ga, gka}), ga, m, gka, k)),
             ForKind::vectorized);
  const StmtId fetch_b =
      b.loop(vb, 4, b.store(Bs, {b_depth, b_column}, guarded(b.load(B, {gkb, gb}), gkb, k, gb, n)),
             ForKind::vectorized);
  const VarId i0 = b.var("i.2"), j0 = b.var("j.2"), i1 = b.var("i.2"), j1 = b.var("j.2"),
              i2 = b.var("i.2"), j2 = b.var("j.2"), i3 = b.var("i.2"), j3 = b.var("j.2"),
              ki = b.var("k.1");
  const StmtId zero = b.loop(
      i0, side,
      b.loop(j0, side, b.store(acc, {b.v(i0), b.v(j0)}, b.c(0, sum_type)), ForKind::unrolled),
      ForKind::unrolled);
  const StmtId load_left = b.loop(
      i1, side,
      b.store(left, {b.v(i1)}, b.load(As, {b.v(ki), b.add(b.mul(b.v(ty), b.n(side)), b.v(i1))})),
      ForKind::vectorized);
  const StmtId load_right = b.loop(
      j1, side,
      b.store(right, {b.v(j1)}, b.load(Bs, {b.v(ki), b.add(b.mul(b.v(tx), b.n(side)), b.v(j1))})),
      ForKind::vectorized);
  const ExprList at{b.v(i2), b.v(j2)};
  const StmtId update = b.loop(
      i2, side,
      b.loop(j2, side,
             b.store(acc, at,
                     b.add(b.load(acc, at), b.mul(b.as(sum_type, b.load(left, {b.v(i2)})),
                                                  b.as(sum_type, b.load(right, {b.v(j2)}))))),
             ForKind::unrolled),
      ForKind::unrolled);
  const StmtId inner =
      b.loop(ki, depth, b.alloc(left, b.alloc(right, b.seq({load_left, load_right, update}))),
             ForKind::unrolled);
  const StmtId steps = b.loop(ko, (k + depth - 1) / depth,
                              b.seq({b.barrier(), fetch_a, fetch_b, b.barrier(), inner}));
  const ExprId row = b.add(b.add(row0, b.mul(b.v(ty), b.n(side))), b.v(i3)),
               column = b.add(b.add(column0, b.mul(b.v(tx), b.n(side))), b.v(j3));
  StmtId write = b.store(C, {row, column}, b.load(acc, {b.v(i3), b.v(j3)}));
  if (!whole) {
    write = b.when(pool.and_(pool.lt(row, b.n(m)), pool.lt(column, b.n(n))), write);
  }
  const StmtId result =
      b.loop(i3, side, b.loop(j3, side, write, ForKind::vectorized), ForKind::unrolled);
  StmtId body = b.alloc(acc, b.seq({zero, steps, result}));
  body = b.loop(ty, threads, b.loop(tx, threads, body, ForKind::thread_x), ForKind::thread_y);
  body = b.alloc(As, b.alloc(Bs, body));
  b.p.body = b.loop(by, (m + tile - 1) / tile,
                    b.loop(bx, (n + tile - 1) / tile, body, ForKind::block_x), ForKind::block_y);
  return {"gemm_" + std::string(name_of(type)) + (whole ? "" : "_guarded"), std::move(b.p),
          std::move(plain.p), is_float(sum_type) ? 1e-4 : 0.0};
}

/// y[r, c] = exp(x[r, c] - max) / sum over rows: one block a row sums through shared memory into a
/// workspace, a second kernel divides.
inline GpuCase softmax_case(std::int64_t rows, std::int64_t columns, std::int64_t threads) {
  const auto exp_of = [](GpuBuild& b, BufferId x, ExprId r, ExprId c) {
    return b.p.pool.call(CallOp::exp, {b.load(x, {r, c})});
  };
  GpuBuild plain;
  {
    const BufferId x = plain.arg("x", {rows, columns}), y = plain.arg("y", {rows, columns});
    const BufferId sum = plain.temp("sum", {rows}, Scope::global);
    const VarId r = plain.var("r"), c = plain.var("c"), r2 = plain.var("r"), c2 = plain.var("c");
    const ExprId at = plain.v(r);
    const StmtId zero = plain.store(sum, {at}, plain.c(0, DType::f32));
    const StmtId update =
        plain.store(sum, {at}, plain.add(plain.load(sum, {at}), exp_of(plain, x, at, plain.v(c))));
    const StmtId divide =
        plain.store(y, {plain.v(r2), plain.v(c2)},
                    plain.p.pool.binary(BinaryOp::div, exp_of(plain, x, plain.v(r2), plain.v(c2)),
                                        plain.load(sum, {plain.v(r2)})));
    plain.p.body = plain.alloc(
        sum, plain.seq({plain.loop(r, rows, plain.seq({zero, plain.loop(c, columns, update)})),
                        plain.loop(r2, rows, plain.loop(c2, columns, divide))}));
  }
  GpuBuild b;
  ExprPool& pool = b.p.pool;
  const BufferId x = b.arg("x", {rows, columns}), y = b.arg("y", {rows, columns});
  const BufferId sum = b.temp("sum", {rows}, Scope::global),
                 part = b.temp("part", {threads}, Scope::shared),
                 own = b.temp("own", {1}, Scope::local);
  const VarId block = b.var("r"), thread = b.var("t"), step = b.var("c.0");
  const std::int64_t steps = (columns + threads - 1) / threads;
  const ExprId column = b.add(b.mul(b.v(step), b.n(threads)), b.v(thread));
  const StmtId zero = b.store(own, {b.n(0)}, b.c(0, DType::f32));
  StmtId update =
      b.store(own, {b.n(0)}, b.add(b.load(own, {b.n(0)}), exp_of(b, x, b.v(block), column)));
  if (columns % threads != 0) {
    update = b.when(pool.lt(column, b.n(columns)), update);
  }
  std::vector<StmtId> work{zero, b.loop(step, steps, update),
                           b.store(part, {b.v(thread)}, b.load(own, {b.n(0)})), b.barrier()};
  for (std::int64_t half = threads / 2; half > 0; half /= 2) {
    const ExprId other = b.load(part, {b.add(b.v(thread), b.n(half))});
    work.push_back(b.when(pool.lt(b.v(thread), b.n(half)),
                          b.store(part, {b.v(thread)}, b.add(b.load(part, {b.v(thread)}), other))));
    work.push_back(b.barrier());
  }
  work.push_back(
      b.when(pool.eq(b.v(thread), b.n(0)), b.store(sum, {b.v(block)}, b.load(part, {b.n(0)}))));
  const StmtId first =
      b.loop(block, rows,
             b.alloc(part, b.loop(thread, threads, b.alloc(own, b.seq(work)), ForKind::thread_x)),
             ForKind::block_x);
  const VarId block2 = b.var("r.c.0"), thread2 = b.var("r.c.1");
  const ExprId fused = b.add(b.mul(b.v(block2), b.n(threads)), b.v(thread2));
  const ExprId r = pool.floordiv(fused, b.n(columns)), c = pool.floormod(fused, b.n(columns));
  const StmtId divide =
      b.when(pool.lt(fused, b.n(rows * columns)),
             b.store(y, {r, c}, pool.binary(BinaryOp::div, exp_of(b, x, r, c), b.load(sum, {r}))));
  const StmtId second =
      b.loop(block2, (rows * columns + threads - 1) / threads,
             b.loop(thread2, threads, divide, ForKind::thread_x), ForKind::block_x);
  b.p.body = b.alloc(sum, b.seq({first, second}));
  return {"softmax", std::move(b.p), std::move(plain.p), 1e-5};
}

/// y = x reversed within each block of `count` elements, through shared memory.
inline GpuCase reverse_case(DType type, std::int64_t blocks, std::int64_t count,
                            std::int64_t threads) {
  GpuBuild plain, b;
  {
    const BufferId x = plain.arg("x", {blocks, count}, type),
                   y = plain.arg("y", {blocks, count}, type);
    const VarId o = plain.var("o"), i = plain.var("i");
    const ExprId back = plain.p.pool.sub(plain.n(count - 1), plain.v(i));
    plain.p.body = plain.loop(
        o, blocks,
        plain.loop(i, count,
                   plain.store(y, {plain.v(o), plain.v(i)}, plain.load(x, {plain.v(o), back}))));
  }
  const BufferId x = b.arg("x", {blocks, count}, type), y = b.arg("y", {blocks, count}, type),
                 all = b.temp("all", {count}, Scope::shared, type);
  const VarId o = b.var("o"), t = b.var("t"), i = b.var("i"), i2 = b.var("i");
  const auto at = [&](VarId inner) { return b.add(b.mul(b.v(inner), b.n(threads)), b.v(t)); };
  const StmtId in = b.loop(i, count / threads, b.store(all, {at(i)}, b.load(x, {b.v(o), at(i)})));
  const ExprId back = b.p.pool.sub(b.n(count - 1), at(i2));
  const StmtId out = b.loop(i2, count / threads, b.store(y, {b.v(o), at(i2)}, b.load(all, {back})));
  b.p.body = b.loop(
      o, blocks, b.alloc(all, b.loop(t, threads, b.seq({in, b.barrier(), out}), ForKind::thread_x)),
      ForKind::block_x);
  return {"reverse_" + std::string(name_of(type)), std::move(b.p), std::move(plain.p), 0.0};
}

/// Every call and conversion of a type, one thread an element.
inline GpuCase calls_case(DType type) {
  constexpr std::int64_t count = 48, columns = 16;
  const auto statements = [&](GpuBuild& b, BufferId x, BufferId y, ExprId at) {
    ExprPool& pool = b.p.pool;
    const ExprId v = b.load(x, {at});
    std::vector<StmtId> all;
    const auto put = [&](ExprId value) {
      all.push_back(b.store(y, {at, b.n(static_cast<std::int64_t>(all.size()))}, value));
    };
    put(pool.min(v, b.c(1, type)));
    put(pool.max(v, b.c(-1, type)));
    put(pool.call(CallOp::abs, {v}));
    put(pool.unary(UnaryOp::neg, v));
    put(pool.cast(type, pool.cast(DType::i32, b.mul(v, b.c(3, type)))));
    put(pool.cast(type, pool.floordiv(pool.sub(at, b.n(5)), b.n(7))));
    put(pool.cast(type, pool.floormod(pool.sub(at, b.n(5)), b.n(7))));
    put(pool.select(pool.lt(v, b.c(0, type)), b.c(2, type), pool.cast(type, at)));
    if (!is_float(type)) {
      const ExprId five = b.c(5, type);
      put(pool.floordiv(v, five));
      put(pool.floormod(v, five));
      put(pool.binary(BinaryOp::truncmod, v, five));
      put(pool.binary(BinaryOp::div, v, five));
      put(pool.sub(b.mul(v, five), b.add(v, v)));
      return b.seq(all);
    }
    const ExprId positive = b.add(pool.call(CallOp::abs, {v}), b.c(0.5, type));
    for (const CallOp op : {CallOp::exp, CallOp::tanh, CallOp::erf, CallOp::sigmoid, CallOp::round,
                            CallOp::floor, CallOp::ceil}) {
      put(pool.call(op, {v}));
    }
    put(pool.add(pool.call(CallOp::rsqrt, {positive}),
                 b.add(pool.call(CallOp::sqrt, {positive}), pool.call(CallOp::log, {positive}))));
    all.push_back(b.store(y, {at, b.n(0)}, pool.call(CallOp::pow, {positive, v})));
    all.push_back(b.store(y, {at, b.n(1)}, pool.floormod(v, b.c(0.25, type))));
    return b.seq(all);
  };
  GpuBuild plain, b;
  const BufferId px = plain.arg("x", {count}, type), py = plain.arg("y", {count, columns}, type);
  const VarId i = plain.var("i");
  plain.p.body = plain.loop(i, count, statements(plain, px, py, plain.v(i)));
  const BufferId x = b.arg("x", {count}, type), y = b.arg("y", {count, columns}, type);
  const VarId tx = b.var("i");
  b.p.body = b.loop(tx, count, statements(b, x, y, b.v(tx)), ForKind::thread_x);
  const double bound = type == DType::f16 || type == DType::bf16 ? 1e-2 : 1e-5;
  return {"calls_" + std::string(name_of(type)), std::move(b.p), std::move(plain.p),
          is_float(type) ? bound : 0.0};
}

}  // namespace tensorsmith::test
