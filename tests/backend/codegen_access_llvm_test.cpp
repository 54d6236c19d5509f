// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// How vectors reach memory: strides, masks, gathers, broadcasts, layouts.
#include "codegen_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("strided, reversed and computed lanes read and write the right elements", "[codegen]") {
  for (DType type : {DType::f32, DType::i8, DType::f16, DType::f64}) {
    for (std::int64_t stride : {-3, -1, 1, 2, 3, 4, 5, 17}) {
      for (std::int64_t n : {4, 16, 21, 64}) {
        Maker m;
        ExprPool& pool = m.pool();
        const std::int64_t span = std::abs(stride) * (n - 1) + 1;
        const BufferId a = m.argument("a", type, {span});
        const BufferId dense = m.argument("dense", type, {n});
        const BufferId spread = m.argument("spread", type, {span});
        const VarId j = m.var("j");
        ExprId at = pool.mul(m.v(j), m.i(stride));
        if (stride < 0) {
          at = pool.add(at, m.i(span - 1));
        }
        m.p.body = m.loop(j, n, ForKind::vectorized,
                          m.seq({m.store(dense, {m.v(j)}, m.load(a, {at})),
                                 m.store(spread, {at}, m.load(dense, {m.v(j)}))}));
        INFO(name_of(type) << " stride " << stride << " length " << n);
        check_program(m.p, 1, true);
      }
    }
  }
}

TEST_CASE("a vector may run over the rows of a plane", "[codegen]") {
  // Dense rows are one run of memory; padded ones are not, and neither is another division.
  for (std::int64_t row : {14, 16}) {
    for (std::int64_t divisor : {14, 13}) {
      Maker m;
      ExprPool& pool = m.pool();
      const BufferId in = m.argument("in", DType::f32, {3, 5, 16, row});
      const BufferId out = m.argument("out", DType::f32, {5, 3, 16, row});
      const VarId c = m.var("c"), f = m.var("f"), j = m.var("j");
      const ExprId at = pool.add(pool.mul(m.v(f), m.i(32)), m.v(j));
      const ExprId y = pool.floordiv(at, m.i(divisor)), x = pool.floormod(at, m.i(divisor));
      const ExprId value = pool.add(m.load(in, {m.i(2), m.v(c), y, x}), m.f(1.0));
      m.p.body = m.loop(
          c, 5, ForKind::serial,
          m.loop(f, 6, ForKind::serial,
                 m.loop(j, 32, ForKind::vectorized, m.store(out, {m.v(c), m.i(1), y, x}, value))));
      INFO("rows of " << row << ", divided by " << divisor);
      check_program(m.p, 1, true);
    }
  }
}

TEST_CASE("idle lanes touch no memory", "[codegen]") {
  // in[j - 2] exists for 2 <= j < 30 only, table only where flag is set.
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId in = m.argument("in", DType::f32, {3, 28});
  const BufferId table = m.argument("table", DType::f32, {16});
  const BufferId where = m.argument("where", DType::i32, {33});
  const BufferId out = m.argument("out", DType::f32, {3, 33});
  const BufferId holes = m.argument("holes", DType::f32, {3, 33});
  const VarId i = m.var("i"), j = m.var("j");
  const ExprId inside = pool.and_(pool.ge(m.v(j), m.i(2)), pool.lt(m.v(j), m.i(30)));
  const ExprId padded =
      pool.if_then_else(inside, m.load(in, {m.v(i), pool.sub(m.v(j), m.i(2))}), m.f(-1.0));
  // The index is out of range where the condition fails: a uniform load and a gather.
  const ExprId value = m.load(where, {m.v(j)});
  const ExprId is_good = pool.and_(pool.ge(value, m.i(0)), pool.lt(value, m.i(16)));
  const ExprId gathered = pool.if_then_else(is_good, m.load(table, {value}), m.f(5.0));
  const ExprId far = pool.mul(m.v(i), m.i(1 << 20));
  const ExprId broadcast =
      pool.if_then_else(pool.lt(pool.add(m.v(j), pool.mul(m.v(i), m.i(1000))), m.i(7)),
                        m.load(table, {far}), m.f(0.5));
  const ExprList at = {m.v(i), m.v(j)};
  const StmtId stores =
      m.seq({m.store(out, at, pool.add(padded, pool.add(gathered, broadcast))),
             m.branch(is_good, m.store(holes, at, m.load(table, {value})),
                      m.branch(pool.lt(m.v(j), m.i(20)), m.store(holes, at, padded)))});
  m.p.body = m.loop(i, 3, ForKind::serial, m.loop(j, 33, ForKind::vectorized, stores));
  CounterRng rng(seed());
  std::vector<HostArray> arrays = make_arrays(m.p, rng);
  for (std::int64_t n = 0; n < 33; ++n) {
    arrays[2].set_int(n, n % 3 == 0 ? 1'000'000'000 : n % 5 == 0 ? -4 : n % 16);
  }
  for (const Target& target : code_targets()) {
    CHECK(difference(m.p, arrays, target) == "");
  }
}

TEST_CASE("register buffers survive branches and other granularities", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {5, 24});
  const BufferId out = m.argument("out", DType::f32, {24});
  const BufferId last = m.argument("last", DType::f32, {1});
  const BufferId r = m.buffer("r", DType::f32, {24}, Scope::register_);
  const VarId k = m.var("k"), j = m.var("j"), u = m.var("u");
  const auto at = [&](VarId v) { return ExprList{m.v(v)}; };
  const auto each = [&](StmtId body) { return m.loop(j, 24, ForKind::vectorized, body); };
  const auto one_by_one = [&](StmtId body) { return m.loop(u, 24, ForKind::unrolled, body); };
  const StmtId add =
      each(m.store(r, at(j), pool.add(m.load(r, at(j)), m.load(a, {m.v(k), m.v(j)}))));
  const StmtId shuffle =
      one_by_one(m.store(r, at(u), pool.sub(m.load(r, {pool.sub(m.i(23), m.v(u))}), m.f(0.5))));
  const StmtId step = m.branch(pool.eq(pool.floormod(m.v(k), m.i(2)), m.i(0)), add, shuffle);
  const StmtId masked =
      each(m.branch(pool.lt(m.load(r, at(j)), m.f(0.0)), m.store(r, at(j), m.f(1.0))));
  m.p.body = m.alloc(
      r, m.seq({one_by_one(m.store(r, at(u), m.f(0.0))), m.loop(k, 5, ForKind::serial, step),
                masked, each(m.store(out, at(j), m.load(r, at(j)))),
                m.store(last, {m.i(0)}, m.load(r, {m.i(23)}))}));
  check_program(m.p, 1, true);
}

TEST_CASE("an unrolled sum is computed in order", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {37});
  const BufferId sum = m.buffer("sum", DType::f32, {1}, Scope::register_);
  const BufferId out = m.argument("out", DType::f32, {1});
  const VarId j = m.var("j");
  const ExprList zero = {m.i(0)};
  const ExprId next = pool.add(m.load(sum, zero), m.load(a, {m.v(j)}));
  m.p.body = m.alloc(sum, m.seq({m.store(sum, zero, m.f(0.0)),
                                 m.loop(j, 37, ForKind::unrolled, m.store(sum, zero, next)),

                                 m.store(out, zero, m.load(sum, zero))}));
  check_program(m.p, 1, true);
}

TEST_CASE("padded and transposed layouts, prefetches, booleans", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {12, 20});
  const BufferId flag = m.argument("flag", DType::boolean, {20});
  const BufferId out = m.argument("out", DType::f32, {12, 20});
  const BufferId smaller = m.argument("smaller", DType::boolean, {12, 20});
  BufferId t = m.buffer("t", DType::f32, {12, 20}, Scope::local);
  m.p[t].strides[0] = 1;  // columns, 13 apart
  m.p[t].strides[1] = 13;
  const VarId i = m.var("i"), j = m.var("j");
  const ExprList at = {m.v(i), m.v(j)};
  const auto nest = [&](StmtId body) {
    return m.loop(i, 12, ForKind::serial, m.loop(j, 20, ForKind::vectorized, body));
  };
  const ExprId twice = pool.mul(m.load(a, at), m.f(2.0));
  const ExprId chosen = pool.select(m.load(flag, {m.v(j)}), m.load(t, at), m.f(9.0));
  const StmtId prefetch = m.p.add(Stmt(Prefetch{a, {pool.add(m.v(i), m.i(4)), m.i(0)}, 1}));
  const ExprId is_less = pool.lt(m.load(a, at), m.load(t, at));
  m.p.body = m.alloc(
      t, m.seq({nest(m.store(t, at, twice)),
                nest(m.seq({prefetch, m.store(out, at, chosen), m.store(smaller, at, is_less)}))}));
  check_program(m.p, 1, true);
}

TEST_CASE("a streamed result passes the caches where vectors of it lie aligned", "[codegen]") {
  const auto copied = [](std::int64_t columns, ForKind rows) {
    Maker m;
    const BufferId a = m.argument("a", DType::f32, {12, columns});
    const BufferId out = m.argument("out", DType::f32, {12, columns});
    m.p[out].is_streamed = true;
    const VarId i = m.var("i"), j = m.var("j");
    const ExprList at = {m.v(i), m.v(j)};
    const StmtId row = m.loop(j, columns, ForKind::vectorized,
                              m.store(out, at, m.pool().mul(m.load(a, at), m.f(2.0))));
    m.p.body = m.loop(i, 12, rows, row);
    check_program(m.p, 2, true);
    LlvmCompiler compiler(Target::x86_64_v4());
    const auto text = compiler.assembly(m.p);
    REQUIRE(text);
    return *text;
  };
  for (const ForKind rows : {ForKind::serial, ForKind::parallel}) {
    const std::string aligned = copied(48, rows);
    CHECK(aligned.find("vmovntps") != std::string::npos);
    CHECK(aligned.find("sfence") != std::string::npos);
    // Rows of 23 elements begin anywhere.
    CHECK(copied(23, rows).find("vmovnt") == std::string::npos);
  }
}

TEST_CASE("a streamed result that sums are kept in stays in the caches", "[codegen]") {
  const auto summed = [](bool in_registers) {
    Maker m;
    const BufferId a = m.argument("a", DType::f32, {12, 48});
    const BufferId out = m.argument("out", DType::f32, {48});
    m.p[out].is_streamed = true;
    const BufferId sum = in_registers ? m.buffer("sum", DType::f32, {48}, Scope::register_) : out;
    const VarId k = m.var("k"), x = m.var("x"), y = m.var("y"), z = m.var("z");
    const auto row = [&](VarId var, StmtId body) {
      return m.loop(var, 48, ForKind::vectorized, body);
    };
    const StmtId zeros = row(x, m.store(sum, {m.v(x)}, m.f(0.0)));
    const StmtId terms =
        m.loop(k, 12, ForKind::serial,
               row(y, m.store(sum, {m.v(y)},
                              m.pool().add(m.load(sum, {m.v(y)}), m.load(a, {m.v(k), m.v(y)})))));
    const StmtId result = row(z, m.store(out, {m.v(z)}, m.load(sum, {m.v(z)})));
    m.p.body = in_registers ? m.alloc(sum, m.seq({zeros, terms, result})) : m.seq({zeros, terms});
    check_program(m.p, 2, true);
    LlvmCompiler compiler(Target::x86_64_v4());
    const auto text = compiler.assembly(m.p);
    REQUIRE(text);
    return *text;
  };
  CHECK(summed(true).find("vmovntps") != std::string::npos);
  CHECK(summed(false).find("vmovnt") == std::string::npos);
}

TEST_CASE("large buffers live in the workspace and share it", "[codegen]") {
  Maker m;
  const BufferId out = m.argument("out", DType::f32, {2, 5000});
  std::vector<StmtId> parts;
  for (std::int64_t part = 0; part < 2; ++part) {
    const BufferId t = m.buffer("t", DType::f32, {5000}, Scope::local);
    const VarId j = m.var("j"), q = m.var("q");
    parts.push_back(
        m.alloc(t, m.seq({m.loop(j, 5000, ForKind::vectorized,
                                 m.store(t, {m.v(j)}, m.pool().cast(DType::f32, m.v(j)))),
                          m.loop(q, 5000, ForKind::vectorized,
                                 m.store(out, {m.i(part), m.v(q)}, m.load(t, {m.v(q)})))})));
  }
  m.p.body = m.seq(parts);
  check_program(m.p);
  LlvmCompiler compiler(host_target());
  const auto object = compiler.compile(m.p);
  REQUIRE(object);
  CHECK(object->shared_bytes == 20032);  // once: the buffers do not live at the same time
  CHECK(object->per_thread_bytes == 0);
}
