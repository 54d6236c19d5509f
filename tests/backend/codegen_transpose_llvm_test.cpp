// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Transposing copies: blocks of rows exchanged in registers, with every kind of edge.
#include "codegen_fixture.hpp"
#include "support/full_count.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct Copy {
  DType type = DType::f32;
  std::int64_t u_extent = 16, v_extent = 16;
  ForKind u_kind = ForKind::unrolled;
};

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// in[v][u], the last element read being the last one before an inaccessible page.
ExprId read_corner(Maker& m, const Copy& c, VarId u, VarId v) {
  const std::int64_t width = round_up(c.u_extent + 3, 64);
  const BufferId in = m.argument("in", c.type, {c.v_extent + 1, width});
  return m.load(in, {m.pool().add(m.v(v), m.i(1)), m.pool().add(m.v(u), m.i(width - c.u_extent))});
}

ExprId two(Maker& m, DType type) {
  return is_float(type) ? m.f(2.0, type) : m.pool().int_imm(2, type);
}

/// for u: for v (vectorized): out[u][v] = 2 * in[v][u].
LoopProgram pack_program(const Copy& c) {
  Maker m;
  const VarId u = m.var("u"), v = m.var("v");
  const ExprId value = m.pool().mul(read_corner(m, c, u, v), two(m, c.type));
  const BufferId out = m.argument("out", c.type, {c.u_extent, c.v_extent});
  m.p.body =
      m.loop(u, c.u_extent, c.u_kind,
             m.loop(v, c.v_extent, ForKind::vectorized, m.store(out, {m.v(u), m.v(v)}, value)));
  return std::move(m.p);
}

/// The same with out[v][u] = 2 * in[u][v]: the store is the one to be exchanged.
LoopProgram unpack_program(const Copy& c) {
  Maker m;
  const VarId u = m.var("u"), v = m.var("v");
  const Copy swapped{c.type, c.v_extent, c.u_extent, c.u_kind};
  const ExprId value = m.pool().mul(read_corner(m, swapped, v, u), two(m, c.type));
  const BufferId out = m.argument("out", c.type, {c.v_extent, c.u_extent});
  m.p.body =
      m.loop(u, c.u_extent, c.u_kind,
             m.loop(v, c.v_extent, ForKind::vectorized, m.store(out, {m.v(v), m.v(u)}, value)));
  return std::move(m.p);
}

int count_lines(const std::string& text, std::initializer_list<const char*> words) {
  int count = 0;
  std::string line;
  for (char ch : text + "\n") {
    if (ch != '\n') {
      line += ch;
      continue;
    }
    for (const char* word : words) {
      if (line.find(word) != std::string::npos) {
        ++count;
        break;
      }
    }
    line.clear();
  }
  return count;
}

}  // namespace

TEST_CASE("transposing copies of every size read and write the right elements", "[codegen]") {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {16, 16}, {16, 48}, {13, 7}, {5, 33}, {2, 64}, {3, 5}, {64, 2}, {9, 20}, {40, 17}, {33, 150}};
  std::uint32_t number = 0;
  for (DType type : {DType::f32, DType::i32, DType::f64, DType::i8, DType::f16}) {
    for (const auto& [u_extent, v_extent] : sizes) {
      for (ForKind kind : {ForKind::unrolled, ForKind::serial}) {
        if (number++ % full_count(3, 1) != 0) {
          continue;
        }
        const Copy copy{type, u_extent, v_extent, kind};
        INFO(name_of(type) << " " << u_extent << " x " << v_extent << " "
                           << (kind == ForKind::serial ? "serial" : "unrolled"));
        check_program(pack_program(copy), 1, true);
        check_program(unpack_program(copy), 1, true);
      }
    }
  }
}

TEST_CASE("small blocks of every size are exchanged", "[codegen]") {
  std::uint32_t number = 0;
  for (DType type : {DType::f32, DType::u8, DType::i64, DType::bf16, DType::boolean}) {
    for (std::int64_t u_extent = 2; u_extent <= 9; ++u_extent) {
      for (std::int64_t v_extent : {2, 3, 6, 8, 11, 15}) {
        if (number++ % full_count(5, 1) != 0) {
          continue;
        }
        INFO(name_of(type) << " " << u_extent << " x " << v_extent);
        Copy copy{type, u_extent, v_extent, ForKind::unrolled};
        if (type != DType::boolean) {
          check_program(pack_program(copy), 1, true);
          check_program(unpack_program(copy), 1, true);
          continue;
        }
        Maker m;
        const VarId u = m.var("u"), v = m.var("v");
        const ExprId value = read_corner(m, copy, u, v);
        const BufferId out = m.argument("out", type, {u_extent, v_extent});
        m.p.body =
            m.loop(u, u_extent, ForKind::unrolled,
                   m.loop(v, v_extent, ForKind::vectorized, m.store(out, {m.v(u), m.v(v)}, value)));
        check_program(m.p, 1, true);
      }
    }
  }
}

TEST_CASE("a transposed read is part of an expression", "[codegen]") {
  // out[b][u][v] = i32(small[v][u]) + dense[u][v] * each[u] + (inside ? table[v + 5][u - 2] : -1)
  Maker m;
  ExprPool& pool = m.pool();
  const std::int64_t nu = 21, nv = 37;
  const BufferId small = m.argument("small", DType::i8, {2, nv, nu});
  const BufferId dense = m.argument("dense", DType::i32, {nu, nv});
  const BufferId each = m.argument("each", DType::i32, {nu});
  const BufferId table = m.argument("table", DType::i32, {nv, nu - 4});
  const BufferId out = m.argument("out", DType::i32, {2, nu, nv});
  const VarId b = m.var("b"), u = m.var("u"), v = m.var("v");
  const ExprId inside = pool.and_(pool.and_(pool.ge(m.v(u), m.i(2)), pool.lt(m.v(u), m.i(nu - 2))),
                                  pool.lt(pool.add(m.v(v), m.v(b)), m.i(nv - 5)));
  const ExprId padded = pool.if_then_else(
      inside, m.load(table, {pool.add(m.v(v), m.i(5)), pool.sub(m.v(u), m.i(2))}), m.i(-1));
  const ExprId wide = pool.cast(DType::i32, m.load(small, {m.v(b), m.v(v), m.v(u)}));
  const ExprId product = pool.mul(m.load(dense, {m.v(u), m.v(v)}), m.load(each, {m.v(u)}));
  const ExprId sum = pool.add(pool.add(wide, product), pool.cast(DType::i32, padded));
  for (ForKind kind : {ForKind::serial, ForKind::unrolled}) {
    m.p.body = m.loop(
        b, 2, ForKind::parallel,
        m.loop(u, nu, kind,
               m.loop(v, nv, ForKind::vectorized, m.store(out, {m.v(b), m.v(u), m.v(v)}, sum))));
    check_program(m.p, 2, true);
  }
}

TEST_CASE("register tiles are read and written by columns", "[codegen]") {
  // acc[u][v] = in[v][u]; out[v][u] = acc[u][v] + acc[u][0]
  for (const auto& [nu, nv] :
       {std::pair(16, 16), std::pair(6, 16), std::pair(12, 32), std::pair(5, 9)}) {
    Maker m;
    const BufferId in = m.argument("in", DType::f32, {nv, nu});
    const BufferId out = m.argument("out", DType::f32, {nv, nu});
    const BufferId acc = m.buffer("acc", DType::f32, {nu, nv}, Scope::register_);
    const VarId u = m.var("u"), v = m.var("v");
    const auto nest = [&, nu = nu, nv = nv](StmtId body) {
      return m.loop(u, nu, ForKind::unrolled, m.loop(v, nv, ForKind::vectorized, body));
    };
    const ExprId sum = m.pool().add(m.load(acc, {m.v(u), m.v(v)}), m.load(acc, {m.v(u), m.i(0)}));
    m.p.body =
        m.alloc(acc, m.seq({nest(m.store(acc, {m.v(u), m.v(v)}, m.load(in, {m.v(v), m.v(u)}))),
                            nest(m.store(out, {m.v(v), m.v(u)}, sum))}));
    INFO(nu << " x " << nv);
    check_program(m.p, 1, true);
  }
}

TEST_CASE("blocks of an extent that varies end with the last iteration", "[codegen]") {
  // for k0: for k in min(24, 100 - 24 * k0): pack; and with extents 0 ... 41.
  for (DType type : {DType::f32, DType::i8}) {
    Maker m;
    ExprPool& pool = m.pool();
    const BufferId in = m.argument("in", type, {70, 128});
    const BufferId out = m.argument("out", type, {128, 70});
    const BufferId start = m.argument("start", type, {42, 42, 70});
    const VarId k0 = m.var("k0"), k = m.var("k"), v = m.var("v"), n = m.var("n");
    const ExprId at = pool.add(pool.mul(m.v(k0), m.i(24)), m.v(k));
    const ExprId from = pool.add(at, m.i(28));
    const auto lanes = [&](StmtId body) { return m.loop(v, 70, ForKind::vectorized, body); };
    const ExprId rest = pool.min(m.i(24), pool.sub(m.i(100), pool.mul(m.v(k0), m.i(24))));
    const ExprList here = {m.v(n), m.v(k), m.v(v)};
    m.p.body = m.seq({m.loop(k0, 5, ForKind::serial,
                             m.loop(k, rest, ForKind::serial,
                                    lanes(m.store(out, {at, m.v(v)}, m.load(in, {m.v(v), from}))))),
                      m.loop(n, 42, ForKind::serial,
                             m.loop(k, m.v(n), ForKind::serial,
                                    lanes(m.store(start, here, m.load(in, {m.v(v), m.v(k)})))))});
    check_program(m.p, 1, true);
  }
}

TEST_CASE("the order of iterations is kept where it can be seen", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId in = m.argument("in", DType::i32, {40, 40});
  const BufferId last = m.argument("last", DType::i32, {80});
  const BufferId square = m.argument("square", DType::i32, {40, 40});
  const VarId u = m.var("u"), v = m.var("v");
  const auto nest = [&](StmtId body) {
    return m.loop(u, 20, ForKind::unrolled, m.loop(v, 33, ForKind::vectorized, body));
  };
  // Many iterations store to one element, then a matrix is exchanged in place.
  m.p.body = m.seq({nest(m.store(last, {pool.add(m.v(u), m.v(v))}, m.load(in, {m.v(v), m.v(u)}))),
                    nest(m.store(square, {m.v(u), m.v(v)}, m.load(square, {m.v(v), m.v(u)})))});
  check_program(m.p, 1, true);
}

TEST_CASE("a block is rows, shuffles and columns, nothing else", "[codegen]") {
  LlvmCompiler compiler(Target::x86_64_v4());
  const auto text = compiler.assembly(pack_program({}));
  REQUIRE(text);
  CHECK(count_lines(*text, {"vunpck", "vshuf", "vperm", "vinsert", "vblend", "vextract"}) == 64);
  CHECK(count_lines(*text, {"vpinsr", "vgather", "vmovss", "vmovd"}) == 0);
}
