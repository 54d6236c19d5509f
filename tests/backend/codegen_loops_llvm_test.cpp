// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include <thread>

#include "codegen_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// out[j] = a[j] * 2 + b[2 * j + 1] for a vectorized j.
LoopProgram tail_program(std::int64_t n, DType type) {
  Maker m;
  const BufferId a = m.argument("a", type, {n});
  const BufferId b = m.argument("b", type, {2 * n});
  const BufferId out = m.argument("out", type, {n});
  const VarId j = m.var("j");
  const ExprId two = is_float(type) ? m.f(2.0, type) : m.pool().int_imm(2, type);
  const ExprId at = m.pool().add(m.pool().mul(m.v(j), m.i(2)), m.i(1));
  const ExprId sum = m.pool().add(m.pool().mul(m.load(a, {m.v(j)}), two), m.load(b, {at}));
  m.p.body = m.loop(j, n, ForKind::vectorized, m.store(out, {m.v(j)}, sum));
  return std::move(m.p);
}

/// The register-tiled matrix product of two packed panels, k of `k_extent` (an expression of m).
LoopProgram tile_program(int rows, int columns, std::int64_t depth, bool is_dynamic) {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {2, depth, rows});
  const BufferId b = m.argument("b", DType::f32, {depth, columns});
  const BufferId c = m.argument("c", DType::f32, {2 * rows, columns});
  const BufferId acc = m.buffer("acc", DType::f32, {rows, columns}, Scope::register_);
  const VarId t = m.var("t"), k = m.var("k"), i = m.var("i"), j = m.var("j");
  const auto nest = [&](StmtId body) {
    return m.loop(i, rows, ForKind::unrolled, m.loop(j, columns, ForKind::vectorized, body));
  };
  const ExprList tile = {m.v(i), m.v(j)};
  const ExprId product = pool.mul(m.load(a, {m.v(t), m.v(k), m.v(i)}), m.load(b, {m.v(k), m.v(j)}));
  const StmtId update = nest(m.store(acc, tile, pool.add(m.load(acc, tile), product)));
  const ExprId extent = is_dynamic ? pool.mul(m.v(t), m.i(depth)) : m.i(depth);
  const ExprList at = {pool.add(pool.mul(m.v(t), m.i(rows)), m.v(i)), m.v(j)};
  const StmtId body =
      m.seq({nest(m.store(acc, tile, m.f(0.0))), m.loop(k, extent, ForKind::serial, update),
             nest(m.store(c, at, pool.add(m.load(c, at), m.load(acc, tile))))});
  m.p.body = m.loop(t, 2, ForKind::serial, m.alloc(acc, body));
  return std::move(m.p);
}

}  // namespace

TEST_CASE("vectorized loops of every length have right tails", "[codegen]") {
  for (DType type : {DType::f32, DType::f64, DType::i32, DType::u8, DType::bf16}) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      INFO(name_of(type) << " length " << n);
      check_program(tail_program(n, type), 1, true);
    }
  }
  for (DType type : {DType::f16, DType::i64, DType::i8}) {
    for (std::int64_t n : {1, 7, 16, 33, 150, 1000}) {
      INFO(name_of(type) << " length " << n);
      check_program(tail_program(n, type), 1, true);
    }
  }
}

TEST_CASE("register tiles are carried through serial loops", "[codegen]") {
  for (const auto& [rows, columns] : {std::pair(12, 32), std::pair(6, 16), std::pair(3, 40),
                                      std::pair(1, 5), std::pair(5, 1), std::pair(4, 23)}) {
    INFO(rows << " x " << columns);
    check_program(tile_program(rows, columns, 9, false), 1, true);
    check_program(tile_program(rows, columns, 9, true), 1, true);
  }
}

TEST_CASE("a run of a few small steps is written out, a longer one is a loop", "[codegen]") {
  LlvmCompiler compiler(Target::x86_64_v4());
  const auto num_fma = [&](int rows, int columns, std::int64_t depth) {
    const auto text = compiler.assembly(tile_program(rows, columns, depth, false));
    REQUIRE(text);
    int count = 0;
    for (std::size_t at = text->find("vfmadd"); at != std::string::npos;
         at = text->find("vfmadd", at + 1)) {
      ++count;
    }
    return count;
  };
  CHECK(num_fma(1, 64, 8) == 4 * 8);
  CHECK(num_fma(1, 64, 17) == 4);
  CHECK(num_fma(4, 64, 8) == 16);
  CHECK(num_fma(4, 64, 4) == 16 * 4);
}

TEST_CASE("the inner loop of a register tile is nothing but its arithmetic", "[codegen]") {
  LlvmCompiler compiler(Target::x86_64_v4());
  const auto text = compiler.assembly(tile_program(12, 32, 64, false));
  REQUIRE(text);
  // The only loop body that multiplies: from its label to its branch.
  std::vector<std::string> lines(1);
  for (char c : *text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  std::size_t first = lines.size(), last = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("vfmadd") != std::string::npos) {
      first = std::min(first, i);
      last = i;
    }
  }
  REQUIRE(first < last);
  while (lines[first].find(".LBB") != 0) {
    --first;
  }
  while (lines[last].find("\tj") != 0) {
    ++last;
  }
  int num_fma = 0, num_loads = 0, num_broadcasts = 0, num_others = 0;
  for (std::size_t i = first + 1; i <= last; ++i) {
    if (lines[i].find("vfmadd") != std::string::npos) {
      ++num_fma;
    } else if (lines[i].find("vmovups\t") != std::string::npos &&
               lines[i].find("(") != std::string::npos) {
      ++num_loads;
    } else if (lines[i].find("vbroadcastss") != std::string::npos) {
      ++num_broadcasts;
    } else {
      ++num_others;
    }
  }
  CHECK(num_fma == 24);
  CHECK(num_loads == 2);
  CHECK(num_broadcasts == 12);
  CHECK(num_others <= 5);  // pointers, counter, branch
}

TEST_CASE("extents may be computed, zero included", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId out = m.argument("out", DType::i32, {7, 9});
  const VarId i = m.var("i"), j = m.var("j");
  const ExprId extent = pool.min(pool.sub(m.i(9), pool.mul(m.v(i), m.i(2))), m.i(5));
  const ExprId value = pool.add(pool.mul(m.v(i), m.i(100)), pool.floordiv(m.v(j), m.i(2)));
  m.p.body = m.loop(i, 7, ForKind::serial,
                    m.loop(j, extent, ForKind::serial, m.store(out, {m.v(i), m.v(j)}, value)));
  check_program(m.p);
}

TEST_CASE("parallel loops run on several threads with their own memory", "[codegen][threads]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {3, 40, 24});
  const BufferId out = m.argument("out", DType::f32, {3, 40, 24});
  const BufferId small = m.buffer("small", DType::f32, {24}, Scope::local);
  const BufferId large = m.buffer("large", DType::f32, {24, 300}, Scope::local);
  const BufferId shared = m.buffer("shared", DType::f32, {40, 240}, Scope::shared);
  const VarId t = m.var("t"), i = m.var("i"), j = m.var("j"), q = m.var("q"), r = m.var("r");
  const ExprList at = {m.v(t), m.v(i), m.v(j)};
  const ExprId scaled = pool.mul(m.load(a, at), m.f(3.0));
  const StmtId fill = m.loop(
      j, 24, ForKind::vectorized,
      m.seq({m.store(small, {m.v(j)}, scaled),
             m.store(shared, {m.v(i), m.v(j)}, pool.add(m.load(small, {m.v(j)}), m.f(1.0)))}));
  const StmtId stretch = m.loop(r, 24, ForKind::serial,
                                m.loop(q, 300, ForKind::vectorized,
                                       m.store(large, {m.v(r), m.v(q)}, m.load(small, {m.v(r)}))));
  const VarId j2 = m.var("j2");
  const ExprId result =
      pool.add(m.load(large, {m.v(j2), m.i(299)}), m.load(shared, {m.v(i), m.v(j2)}));
  const StmtId write =
      m.loop(j2, 24, ForKind::serial, m.store(out, {m.v(t), m.v(i), m.v(j2)}, result));
  const StmtId body = m.alloc(small, m.alloc(large, m.seq({fill, stretch, write})));
  const StmtId parallel = m.loop(i, 40, ForKind::parallel, body);
  m.p.body = m.alloc(shared, m.loop(t, 3, ForKind::serial, parallel));
  for (int num_threads : {1, 2, 4}) {
    check_program(m.p, num_threads);
  }
}

TEST_CASE("parallel loops may be empty, nested or inside other loops", "[codegen][threads]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::i32, {4, 6, 5});
  const BufferId out = m.argument("out", DType::i32, {4, 6, 5});
  const VarId u = m.var("u"), s = m.var("s"), i = m.var("i"), j = m.var("j");
  // u is constant, s a variable of the caller; the body uses a quotient of both.
  const ExprId row = pool.add(pool.mul(m.v(u), m.i(2)), m.v(s));
  const ExprId mixed = pool.floordiv(pool.add(pool.mul(m.v(s), m.i(3)), m.v(i)), m.i(2));
  const ExprId value = pool.add(m.load(a, {row, m.v(i), m.v(j)}), pool.add(mixed, row));
  const StmtId inner = m.loop(j, pool.sub(m.i(5), m.v(s)), ForKind::parallel,
                              m.store(out, {row, m.v(i), m.v(j)}, value));
  const ExprId extent = pool.mul(m.v(s), m.i(6));  // 0, then 6
  const StmtId parallel = m.loop(i, extent, ForKind::parallel, inner);
  m.p.body = m.loop(u, 2, ForKind::unrolled, m.loop(s, 2, ForKind::serial, parallel));
  check_program(m.p, 3);
}

TEST_CASE("compilers on several threads do not meet", "[codegen][threads]") {
  const LoopProgram program = tile_program(6, 32, 20, false);
  std::vector<std::thread> threads;
  std::vector<std::string> results(3, "not run");
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      CounterRng rng(7);
      const std::vector<HostArray> arrays = make_arrays(program, rng, true);
      for (int repeat = 0; repeat < 3 && (repeat == 0 || results[t].empty()); ++repeat) {
        results[t] = difference(program, arrays, host_target());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& result : results) {
    CHECK(result == "");
  }
}

TEST_CASE("unrolled loops become constants", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {4, 30});
  const BufferId out = m.argument("out", DType::f32, {4, 6, 5});
  const VarId i = m.var("i"), u = m.var("u"), w = m.var("w");
  const ExprId mixed = pool.add(pool.mul(m.v(w), m.i(6)), m.v(u));
  const ExprId at = pool.floormod(pool.mul(mixed, m.i(7)), m.i(30));
  const ExprId value = pool.select(pool.lt(m.v(u), m.v(i)), m.load(a, {m.v(i), at}),
                                   pool.cast(DType::f32, pool.floordiv(mixed, m.i(4))));
  const StmtId inner = m.loop(w, 5, ForKind::unrolled,
                              m.branch(pool.eq(pool.floormod(mixed, m.i(3)), m.i(1)),
                                       m.store(out, {m.v(i), m.v(u), m.v(w)}, value)));
  m.p.body = m.loop(i, 4, ForKind::serial, m.loop(u, 6, ForKind::unrolled, inner));
  check_program(m.p);
}

TEST_CASE("what was loaded from a stack slot is forgotten with its buffer", "[codegen]") {
  // In the second iteration x gets the slot that y had in the first.
  Maker m;
  const BufferId a = m.argument("a", DType::f32, {2, 16});
  const BufferId out = m.argument("out", DType::f32, {2, 2, 16});
  const BufferId x = m.buffer("x", DType::f32, {16}, Scope::local);
  const BufferId y = m.buffer("y", DType::f32, {16}, Scope::local);
  const VarId u = m.var("u");
  const auto fill_and_read = [&](BufferId local, std::int64_t row, double factor) {
    const VarId i = m.var("i"), j = m.var("j");
    const ExprId value = m.pool().mul(m.load(a, {m.v(u), m.v(i)}), m.f(factor));
    return m.seq({m.loop(i, 16, ForKind::vectorized, m.store(local, {m.v(i)}, value)),
                  m.loop(j, 16, ForKind::vectorized,
                         m.store(out, {m.v(u), m.i(row), m.v(j)}, m.load(local, {m.v(j)})))});
  };
  const StmtId body =
      m.alloc(x, m.alloc(y, m.seq({fill_and_read(x, 0, 2.0), fill_and_read(y, 1, 3.0)})));
  m.p.body = m.loop(u, 2, ForKind::unrolled, body);
  check_program(m.p);
}

TEST_CASE("a batch shares one object", "[codegen]") {
  const LoopProgram good = tail_program(20, DType::f32);
  Maker broken;
  const VarId x = broken.var("x");
  const BufferId out = broken.argument("out", DType::i32, {4});
  broken.p.body = broken.store(out, {broken.v(x)}, broken.i(1));
  const LoopProgram tile = tile_program(4, 16, 5, false);
  LlvmCompiler compiler(host_target());
  const CompiledBatch batch =
      compiler.compile_batch({{&good, "first"}, {&broken.p, "second"}, {&tile, "third"}});
  const auto kernels = JitKernel::load_batch(batch);
  REQUIRE(kernels.size() == 3);
  REQUIRE(kernels[0]);
  CHECK_FALSE(kernels[1]);
  CHECK(kernels[1].error().find("x") != std::string::npos);
  REQUIRE(kernels[2]);
  CounterRng rng(seed());
  std::vector<HostArray> want = make_arrays(good, rng, true);
  alignas(64) float data[3][40];
  std::memcpy(data[0], want[0].data.data(), 80);
  std::memcpy(data[1], want[1].data.data(), 160);
  void* arguments[] = {data[0], data[1], data[2]};
  REQUIRE(eval(good, want));
  kernels[0]->entry()(arguments, nullptr, nullptr);
  CHECK(std::memcmp(data[2], want[2].data.data(), 80) == 0);
}
