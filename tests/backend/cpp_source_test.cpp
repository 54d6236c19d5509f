// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/codegen/cpp_source.hpp"

#include "backend/cpp_source_fixture.hpp"
#include "tensorsmith/codegen/cpp_prelude.hpp"

using namespace tensorsmith;
using tensorsmith::test::compare_with_interpreter;

namespace {

/// Short names for building loop programs by hand.
struct Build {
  LoopProgram p;

  BufferId arg(std::string name, SmallVector<std::int64_t, 6> shape, DType type = DType::f32) {
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.dtype = type;
    buffer.shape = shape;
    buffer.argument = static_cast<std::int32_t>(p.arguments.size());
    p.arguments.push_back(p.add(std::move(buffer)));
    return p.arguments.back();
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
  ExprId f(double value, DType type = DType::f32) { return p.pool.float_imm(value, type); }
  ExprId load(BufferId b, ExprList at) { return p.pool.load(b, p[b].dtype, std::move(at)); }
  template <class Node>
  StmtId add(Node node) {
    p.stmts.emplace_back(std::move(node));
    return StmtId{static_cast<std::uint32_t>(p.stmts.size()) - 1};
  }
  StmtId store(BufferId b, ExprList at, ExprId value) {
    return add(Store{b, std::move(at), value});
  }
  StmtId loop(VarId id, std::int64_t extent, StmtId body, ForKind kind = ForKind::serial) {
    return add(For{id, n(extent), kind, body});
  }
  StmtId seq(std::vector<StmtId> items) { return add(Seq{std::move(items)}); }
  StmtId alloc(BufferId b, StmtId body) { return add(Alloc{b, body}); }
  StmtId when(ExprId condition, StmtId then_body, StmtId else_body = {}) {
    return add(If{condition, then_body, else_body});
  }
  std::string text() { return emit_cpp_source(p).source; }
};

/// C[rows, columns] of A[rows, depth] and B[depth, columns] in register tiles of 3 x `lanes`; the
/// last columns are masked.
LoopProgram gemm_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                      std::int64_t lanes) {
  Build b;
  const BufferId A = b.arg("A", {rows, depth}), B = b.arg("B", {depth, columns}),
                 C = b.arg("C", {rows, columns});
  const std::int64_t blocks = (columns + lanes - 1) / lanes;
  std::vector<StmtId> parts;
  std::int64_t row = 0;
  for (std::int64_t tile : {std::int64_t{3}, rows % 3}) {
    if (tile == 0) {
      continue;
    }
    const BufferId acc = b.temp("acc", {tile, lanes}, Scope::register_);
    const VarId io = b.var("i.0"), jo = b.var("j.0"), k = b.var("k");
    const std::int64_t tiles = tile == 3 ? rows / 3 : 1;
    auto& pool = b.p.pool;
    const auto nest = [&](auto make, bool masked) {
      const VarId i = b.var("i.1"), j = b.var("j.1");
      const ExprId gi = pool.add(b.n(row), pool.add(pool.mul(b.v(io), b.n(tile)), b.v(i)));
      const ExprId gj = pool.add(pool.mul(b.v(jo), b.n(lanes)), b.v(j));
      StmtId inner = make(gi, gj, b.v(i), b.v(j));
      if (masked) {
        inner = b.when(pool.lt(gj, b.n(columns)), inner);
      }
      return b.loop(i, tile, b.loop(j, lanes, inner, ForKind::vectorized), ForKind::unrolled);
    };
    const StmtId zero = nest(
        [&](ExprId, ExprId, ExprId i, ExprId j) {
          return b.store(acc, {i, j}, b.f(0.0));
        },
        false);
    const StmtId update = nest(
        [&](ExprId gi, ExprId gj, ExprId i, ExprId j) {
          const ExprId right =
              columns % lanes == 0
                  ? b.load(B, {b.v(k), gj})
                  : pool.if_then_else(pool.lt(gj, b.n(columns)), b.load(B, {b.v(k), gj}), b.f(0.0));
          return b.store(acc, {i, j},
                         pool.add(b.load(acc, {i, j}), pool.mul(b.load(A, {gi, b.v(k)}), right)));
        },
        false);
    const StmtId write = nest(
        [&](ExprId gi, ExprId gj, ExprId i, ExprId j) {
          return b.store(C, {gi, gj}, pool.max(b.load(acc, {i, j}), b.f(0.0)));
        },
        columns % lanes != 0);
    const StmtId body = b.alloc(acc, b.seq({zero, b.loop(k, depth, update), write}));
    parts.push_back(b.loop(io, tiles, b.loop(jo, blocks, body), ForKind::parallel));
    row += tiles * tile;
  }
  b.p.body = b.seq(parts);
  return std::move(b.p);
}

}  // namespace

TEST_CASE("a register tile of a matrix product becomes vector variables", "[cpp_source]") {
  const LoopProgram program = gemm_tile(6, 64, 19, 32);
  const std::string text = emit_cpp_source(program).source;
  CHECK(text.find("f32x16 acc_0, acc_16, acc_32, acc_48, acc_64, acc_80;") != std::string::npos);
  CHECK(text.find("acc_48 += A[57 * i_0 + k + 19] * "
                  "*(const f32x16u*)(B + 64 * k + 32 * j_0 + 16);") != std::string::npos);
  compare_with_interpreter(program, 1e-5);
}

TEST_CASE("tails: rows in a smaller tile, masked columns, odd lane counts", "[cpp_source]") {
  compare_with_interpreter(gemm_tile(7, 41, 5, 16), 1e-5);
  compare_with_interpreter(gemm_tile(5, 24, 4, 12), 1e-5);  // 3 x 12: chunks of 4 lanes
  compare_with_interpreter(gemm_tile(4, 10, 3, 5), 1e-5);   // odd: scalar variables
}

TEST_CASE("rows of registers that are no whole number of vectors", "[cpp_source]") {
  for (const std::int64_t shift : {0, 1}) {  // 1: vectors that overlap, which variables cannot
    Build b;
    const BufferId A = b.arg("A", {3, 17}), C = b.arg("C", {3, 17});
    const BufferId acc = b.temp("acc", {3, 17}, Scope::register_);
    auto& pool = b.p.pool;
    const auto rows = [&](auto make, std::int64_t first, std::int64_t count, ForKind kind) {
      const VarId i = b.var("i"), x = b.var("x"), j = b.var("j");
      const ExprId column = pool.add(b.v(x), pool.add(b.n(first), b.v(j)));
      const StmtId vector = b.loop(j, count, make(ExprList{b.v(i), column}), kind);
      return b.loop(i, 3, b.loop(x, kind == ForKind::vectorized ? 1 + shift : 1, vector),
                    ForKind::unrolled);
    };
    const auto start = [&](const ExprList& at) {
      return b.store(acc, at, pool.mul(b.load(A, at), b.f(2.0)));
    };
    const auto finish = [&](const ExprList& at) { return b.store(C, at, b.load(acc, at)); };
    b.p.body = b.alloc(
        acc,
        b.seq({rows(start, 0, 16, ForKind::vectorized), rows(start, 16, 1, ForKind::serial),
               rows(finish, 0, 16, ForKind::vectorized), rows(finish, 16, 1, ForKind::serial)}));
    const bool has_variables = b.text().find("acc[") == std::string::npos;
    CHECK(has_variables == (shift == 0));
    compare_with_interpreter(b.p, 0.0);
  }
}

TEST_CASE("a convolution with lazy padding and a cached row", "[cpp_source]") {
  constexpr std::int64_t h = 9, w = 21, taps = 3;
  Build b;
  auto& pool = b.p.pool;
  const BufferId in = b.arg("in", {h, w}), weights = b.arg("w", {taps, taps}),
                 out = b.arg("out", {h, w});
  const BufferId row = b.temp("row.local", {taps, w + 2}, Scope::local);
  const VarId y = b.var("y"), r = b.var("r"), c = b.var("c"), x = b.var("x"), ry = b.var("ry"),
              rx = b.var("rx"), x2 = b.var("x");
  const ExprId sy = pool.sub(pool.add(b.v(y), b.v(r)), b.n(1)), sx = pool.sub(b.v(c), b.n(1));
  const ExprId inside = pool.and_(pool.and_(pool.ge(sy, b.n(0)), pool.lt(sy, b.n(h))),
                                  pool.and_(pool.ge(sx, b.n(0)), pool.lt(sx, b.n(w))));
  const StmtId cache =
      b.loop(r, taps,
             b.loop(c, w + 2,
                    b.store(row, {b.v(r), b.v(c)},
                            pool.if_then_else(inside, b.load(in, {sy, sx}), b.f(0.0)))));
  const StmtId zero = b.loop(x, w, b.store(out, {b.v(y), b.v(x)}, b.f(0.0)), ForKind::vectorized);
  const ExprId at = b.load(out, {b.v(y), b.v(x2)});
  const ExprId product = pool.mul(b.load(row, {b.v(ry), pool.add(b.v(x2), b.v(rx))}),
                                  b.load(weights, {b.v(ry), b.v(rx)}));
  const StmtId sum =
      b.loop(ry, taps,
             b.loop(rx, taps,
                    b.loop(x2, w, b.store(out, {b.v(y), b.v(x2)}, pool.add(at, product)),
                           ForKind::vectorized),
                    ForKind::unrolled));
  b.p.body = b.loop(y, h, b.alloc(row, b.seq({cache, zero, sum})), ForKind::parallel);
  compare_with_interpreter(b.p, 1e-5);
}

TEST_CASE("large buffers come from the heap of the thread", "[cpp_source]") {
  constexpr std::int64_t n = 9000;
  Build b;
  auto& pool = b.p.pool;
  const BufferId x = b.arg("x", {n}, DType::f64), y = b.arg("y", {n}, DType::f64);
  const BufferId t = b.temp("t", {n}, Scope::global, DType::f64);
  const VarId i = b.var("i"), j = b.var("j.0"), l = b.var("j.1");
  const ExprId at = pool.add(pool.mul(b.v(j), b.n(40)), b.v(l));
  const StmtId fill =
      b.loop(i, n, b.store(t, {b.v(i)}, pool.mul(b.load(x, {b.v(i)}), b.f(1.0 / 3, DType::f64))));
  const ExprId sum = pool.add(b.load(t, {at}), b.load(y, {at}));
  const StmtId use = b.loop(j, n / 40, b.loop(l, 40, b.store(y, {at}, sum), ForKind::vectorized));
  b.p.body = b.alloc(t, b.seq({fill, use}));
  CHECK(b.text().find("scratch_of<double, 9000, 2>") != std::string::npos);
  CHECK(b.text().find("f64x8u") != std::string::npos);
  compare_with_interpreter(b.p, 1e-12);
}

TEST_CASE("integers wrap, divisions round as stated, for every integer type", "[cpp_source]") {
  for (const DType type : {DType::i64, DType::i32, DType::i8, DType::u8}) {
    constexpr std::int64_t n = 37;
    Build b;
    auto& pool = b.p.pool;
    const BufferId x = b.arg("x", {n}, type), y = b.arg("y", {n}, type),
                   z = b.arg("z", {n, 6}, type);
    const VarId i = b.var("i");
    const ExprId a = b.load(x, {b.v(i)});
    const ExprId c = b.load(y, {b.v(i)});
    const ExprId five = pool.int_imm(5, type);
    std::vector<StmtId> all;
    const auto put = [&](std::int64_t column, ExprId value) {
      all.push_back(b.store(z, {b.v(i), b.n(column)}, value));
    };
    put(0, pool.add(pool.mul(a, c), pool.sub(a, c)));
    put(1, pool.floordiv(a, five));
    put(2, pool.floormod(a, five));
    put(3, pool.binary(BinaryOp::truncmod, a, five));
    put(4, pool.min(pool.binary(BinaryOp::div, a, five), pool.unary(UnaryOp::neg, c)));
    put(5, pool.select(pool.lt(a, c), pool.cast(type, b.v(i)), pool.max(a, five)));
    b.p.body = b.loop(i, n, b.seq(all));
    compare_with_interpreter(b.p, 0.0);
  }
}

TEST_CASE("index arithmetic: flattened, folded, rounded downwards", "[cpp_source]") {
  constexpr std::int64_t n = 24;
  Build b;
  auto& pool = b.p.pool;
  const BufferId x = b.arg("x", {4, 6}, DType::i32), y = b.arg("y", {n}, DType::i32);
  const VarId i = b.var("i"), j = b.var("j");
  const ExprId at = pool.add(pool.mul(b.v(i), b.n(6)), b.v(j));
  const ExprId back = pool.floormod(pool.sub(at, b.n(7)), b.n(n));
  const ExprId value = b.load(x, {pool.floordiv(back, b.n(6)), pool.floormod(back, b.n(6))});
  const ExprId shifted = pool.add(value, pool.cast(DType::i32, pool.floordiv(at, b.n(6))));
  b.p.body = b.loop(i, 4, b.loop(j, 6, b.store(y, {at}, shifted)));
  CHECK(b.text().find("y[6 * i + j] = ") != std::string::npos);
  compare_with_interpreter(b.p, 0.0);
}

TEST_CASE("conditions: if and else, masks inside vectors, gather, boolean buffers",
          "[cpp_source]") {
  constexpr std::int64_t n = 32;
  Build b;
  auto& pool = b.p.pool;
  const BufferId x = b.arg("x", {n}), mask = b.arg("mask", {n}, DType::boolean),
                 index = b.arg("index", {n}, DType::u8), y = b.arg("y", {n}),
                 is_large = b.arg("is_large", {n}, DType::boolean);
  const VarId i = b.var("for"), j = b.var("j"), k = b.var("k");
  const ExprId v = b.load(x, {b.v(i)});
  const StmtId branch = b.when(b.load(mask, {b.v(i)}), b.store(y, {b.v(i)}, v),
                               b.store(y, {b.v(i)}, pool.unary(UnaryOp::neg, v)));
  const StmtId flags = b.store(is_large, {b.v(i)}, pool.lt(b.f(0.25), v));
  const StmtId masked =
      b.when(pool.and_(pool.lt(b.v(j), b.n(21)), pool.unary(UnaryOp::not_, b.load(mask, {b.v(j)}))),
             b.store(y, {b.v(j)}, b.f(-2.5)));
  const ExprId gathered =
      b.load(x, {pool.floormod(pool.cast(DType::i32, b.load(index, {b.v(k)})), b.n(n))});
  const StmtId gather = b.store(y, {b.v(k)}, pool.add(b.load(y, {b.v(k)}), gathered));
  b.p.body = b.seq({b.loop(i, n, b.seq({branch, flags})), b.loop(j, n, masked, ForKind::vectorized),
                    b.loop(k, n, gather)});
  compare_with_interpreter(b.p, 1e-6);
}

TEST_CASE("calls and constants of floats", "[cpp_source]") {
  for (const DType type : {DType::f32, DType::f64}) {
    constexpr std::int64_t n = 16;
    Build b;
    auto& pool = b.p.pool;
    const BufferId x = b.arg("x", {n}, type), y = b.arg("y", {n, 14}, type);
    const VarId i = b.var("i");
    const ExprId v = b.load(x, {b.v(i)});
    const ExprId positive = pool.add(pool.call(CallOp::abs, {v}), b.f(0.5, type));
    std::vector<StmtId> all;
    const auto put = [&](ExprId value) {
      all.push_back(b.store(y, {b.v(i), b.n(static_cast<std::int64_t>(all.size()))}, value));
    };
    for (const CallOp op : {CallOp::exp, CallOp::tanh, CallOp::erf, CallOp::sigmoid, CallOp::floor,
                            CallOp::ceil, CallOp::round}) {
      put(pool.call(op, {v}));
    }
    for (const CallOp op : {CallOp::log, CallOp::sqrt, CallOp::rsqrt}) {
      put(pool.call(op, {positive}));
    }
    put(pool.call(CallOp::pow, {positive, v}));
    put(pool.floormod(v, b.f(0.3, type)));
    put(pool.max(v, b.f(-INFINITY, type)));
    put(pool.if_then_else(pool.lt(v, b.f(0.0, type)), b.f(1e-30, type), b.f(0.1, type)));
    b.p.body = b.loop(i, n, b.seq(all));
    compare_with_interpreter(b.p, 1e-5);
  }
}

TEST_CASE("f16 and bf16 are stored narrow and computed as float", "[cpp_source]") {
  for (const DType type : {DType::f16, DType::bf16}) {
    constexpr std::int64_t n = 40;
    Build b;
    auto& pool = b.p.pool;
    const BufferId x = b.arg("x", {n}, type), y = b.arg("y", {n}, type), z = b.arg("z", {n});
    const VarId i = b.var("i"), j = b.var("j");
    const ExprId v = b.load(x, {b.v(i)});
    const StmtId narrow = b.store(y, {b.v(i)}, pool.mul(v, b.f(3.25, type)));
    const StmtId wide =
        b.store(z, {b.v(i)}, pool.cast(DType::f32, pool.cast(type, b.load(z, {b.v(i)}))));
    const StmtId again = b.store(y, {b.v(j)}, pool.add(b.load(y, {b.v(j)}), b.load(x, {b.v(j)})));
    b.p.body =
        b.seq({b.loop(i, n, b.seq({narrow, wide})), b.loop(j, n, again, ForKind::vectorized)});
    compare_with_interpreter(b.p, 0.0);
  }
}

TEST_CASE("names become identifiers, reserved and taken ones are renamed", "[cpp_source]") {
  Build b;
  const BufferId x = b.arg("float", {4}), y = b.arg("a.b@c", {4});
  const VarId i = b.var("a_b_c");
  b.p.body = b.loop(i, 4, b.store(y, {b.v(i)}, b.load(x, {b.v(i)})));
  const KernelSource kernel = emit_cpp_source(b.p);
  CHECK(kernel.header.find("void kernel(const float* float_2, float* a_b_c)") != std::string::npos);
  CHECK(kernel.source.find("a_b_c[a_b_c_2] = float_2[a_b_c_2];") != std::string::npos);
  REQUIRE(kernel.arguments.size() == 2);
  CHECK(kernel.arguments[1].is_written);
  CHECK_FALSE(kernel.arguments[0].is_written);
  compare_with_interpreter(b.p, 0.0);
}

TEST_CASE("the same program gives the same text", "[cpp_source]") {
  CHECK(emit_cpp_source(gemm_tile(7, 41, 5, 16)).source ==
        emit_cpp_source(gemm_tile(7, 41, 5, 16)).source);
}

TEST_CASE("a loop bound to a GPU is refused", "[cpp_source][error]") {
  Build b;
  const BufferId x = b.arg("x", {4});
  const VarId i = b.var("i");
  b.p.body = b.loop(i, 4, b.store(x, {b.v(i)}, b.f(1.0)), ForKind::block_x);
  CHECK_THROWS_AS(emit_cpp_source(b.p), tensorsmith::test::AssertionFailed);
}

TEST_CASE("a variable that is only set is told from one that is read", "[cpp_source]") {
  for (const char* text :
       {"acc_0 = a;", "acc_0[3] = a[2];", "acc_0 = b; acc_0[1] = c;", "acc_01 = acc_10;"}) {
    INFO(text);
    CHECK_FALSE(detail::is_read(text, "acc_0"));
  }
  for (const char* text : {"acc_0 = fma(a, b, acc_0);", "acc_0[1] = acc_0[1] + a;", "b = acc_0[0];",
                           "if (acc_0 == a)", "store(p, acc_0);"}) {
    INFO(text);
    CHECK(detail::is_read(text, "acc_0"));
  }
}
