// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Last axes shorter than a vector: rows interleaved as they are stored, vectors along two loops.
#include "codegen_fixture.hpp"
#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// for b: for u: for v (vectorized): out[b, u, v] = a random formula of reads that are dense along
/// u, along v, along both, or along neither.
class FewLanes {
 public:
  FewLanes(CounterRng& rng, DType type, std::int64_t num_u, std::int64_t num_v)
      : rng_(rng), type_(type), nu_(num_u), nv_(num_v) {
    rows_ = m_.argument("rows", type, {2, nu_, nv_});
    narrow_ = m_.argument("narrow", DType::i8, {2, nu_, nv_});
    wide_ = m_.argument("wide", type, {nu_, nv_ + 2});
    columns_ = m_.argument("columns", type, {nv_, nu_});
    each_u_ = m_.argument("each_u", type, {nu_});
    each_v_ = m_.argument("each_v", type, {nv_});
    table_ = m_.argument("table", type, {5, nv_});
    numbers_ = m_.argument("numbers", DType::i32, {nu_});
  }

  LoopProgram program(ForKind kind, bool is_extent_known) {
    const BufferId out = m_.argument("out", type_, {2, nu_, nv_});
    const StmtId store = m_.store(out, {b(), u(), v()}, formula(3));
    const StmtId row = m_.loop(v_, nv_, ForKind::vectorized, store);
    const ExprId extent =
        is_extent_known ? m_.i(nu_) : pool().sub(m_.i(nu_), pool().floordiv(b(), m_.i(2)));
    m_.p.body = m_.loop(b_, 2, ForKind::serial, m_.loop(u_, extent, kind, row));
    return std::move(m_.p);
  }

 private:
  ExprPool& pool() { return m_.pool(); }
  ExprId b() { return m_.v(b_); }
  ExprId u() { return m_.v(u_); }
  ExprId v() { return m_.v(v_); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng_.next_below(static_cast<std::uint32_t>(n)));
  }
  ExprId at(std::int64_t n) { return m_.i(below(n)); }
  ExprId plus(ExprId index, std::int64_t by) { return pool().add(index, m_.i(by)); }

  ExprId read() {
    switch (below(10)) {
    case 0:
      return m_.load(rows_, {b(), u(), at(nv_)});
    case 1:
      return m_.load(each_u_, {u()});
    case 2:
      return m_.load(each_v_, {v()});
    case 3:
      return m_.load(columns_, {v(), u()});
    case 4:
      return m_.load(wide_, {u(), plus(v(), below(3))});
    case 5:
      return m_.load(rows_, {b(), u(), pool().sub(m_.i(nv_ - 1), v())});
    case 6:
      return pool().cast(type_, m_.load(narrow_, {b(), u(), v()}));
    case 7:
      return m_.load(table_, {pool().floormod(m_.load(numbers_, {u()}), m_.i(5)), v()});
    case 8:
      return m_.load(each_v_, {pool().floordiv(pool().mul(v(), m_.i(2)), m_.i(3))});
    default:
      return m_.load(rows_, {b(), u(), v()});
    }
  }
  /// What only one of the arms may read.
  ExprId guarded(ExprId other) {
    const std::int64_t by = 1 + below(nv_ - 1);
    switch (below(3)) {
    case 0:
      return pool().if_then_else(pool().lt(plus(v(), by), m_.i(nv_)),
                                 m_.load(rows_, {b(), u(), plus(v(), by)}), other);
    case 1:
      return pool().if_then_else(pool().ge(u(), m_.i(1)), m_.load(rows_, {b(), plus(u(), -1), v()}),
                                 other);
    default:
      return pool().if_then_else(
          pool().and_(pool().ge(v(), m_.i(by)), pool().lt(u(), m_.i(nu_ / 2))),
          m_.load(wide_, {plus(u(), 1), plus(v(), -by)}), other);
    }
  }
  ExprId formula(int depth) {
    if (depth == 0) {
      return read();
    }
    const ExprId x = formula(depth - 1), y = formula(depth - 1);
    switch (below(6)) {
    case 0:
      return pool().select(pool().lt(v(), at(nv_)), x, y);
    case 1:
      return pool().select(pool().lt(u(), at(nu_)), x, y);
    case 2:
      return pool().max(x, y);
    case 3:
      return guarded(x);
    default:
      return pool().add(x, y);
    }
  }

  Maker m_;
  CounterRng& rng_;
  DType type_;
  std::int64_t nu_, nv_;
  BufferId rows_, narrow_, wide_, columns_, each_u_, each_v_, table_, numbers_;
  VarId b_ = m_.var("b"), u_ = m_.var("u"), v_ = m_.var("v");
};

}  // namespace

TEST_CASE("last axes shorter than a vector are computed in vectors of other forms", "[codegen]") {
  CounterRng rng(seed(), 91);
  const DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                         DType::i32, DType::u8,  DType::i64};
  const ForKind kinds[] = {ForKind::serial, ForKind::unrolled, ForKind::parallel};
  for (std::uint32_t i = 0; i < scaled(96); ++i) {
    const DType type = types[rng.next_below(7)];
    const auto num_u = static_cast<std::int64_t>(2 + rng.next_below(i % 3 == 0 ? 70 : 12));
    const auto num_v = i % 8 == 7  // interleaved in as many vectors where those have 16 lanes
                           ? std::int64_t{8}
                           : static_cast<std::int64_t>(2 + rng.next_below(i % 2 == 0 ? 3 : 14));
    const ForKind kind = kinds[rng.next_below(3)];
    const bool is_known = kind == ForKind::unrolled || rng.next_below(2) == 0;
    const LoopProgram program = FewLanes(rng, type, num_u, num_v).program(kind, is_known);
    INFO(i << ": " << name_of(type) << " " << num_u << " x " << num_v << "\n" << to_text(program));
    check_program(program, kind == ForKind::parallel ? 2 : 1, true);
  }
}

TEST_CASE("pairs are multiplied as complex numbers without single elements", "[codegen]") {
  // out[u, v] = v == 0 ? x[u, 0] y[u, 0] - x[u, 1] y[u, 1] : x[u, 0] y[u, 1] + x[u, 1] y[u, 0]
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId x = m.argument("x", DType::f32, {640, 2}),
                 y = m.argument("y", DType::f32, {640, 2});
  const BufferId out = m.argument("out", DType::f32, {640, 2});
  const VarId u = m.var("u"), v = m.var("v");
  const auto part = [&](BufferId of, std::int64_t which) {
    return m.load(of, {m.v(u), m.i(which)});
  };
  const ExprId real = pool.sub(pool.mul(part(x, 0), part(y, 0)), pool.mul(part(x, 1), part(y, 1)));
  const ExprId imaginary =
      pool.add(pool.mul(part(x, 0), part(y, 1)), pool.mul(part(x, 1), part(y, 0)));
  const ExprId value = pool.select(pool.eq(m.v(v), m.i(0)), real, imaginary);
  m.p.body = m.loop(u, 640, ForKind::parallel,
                    m.loop(v, 2, ForKind::vectorized, m.store(out, {m.v(u), m.v(v)}, value)));
  check_program(m.p, 2);
  for (const Target& target : {Target::x86_64_v3(), Target::x86_64_v4()}) {
    LlvmOptions options;
    options.is_serial = true;
    const auto text = LlvmCompiler(target, options).assembly(m.p);
    REQUIRE(text);
    CHECK(count_of(*text, "vmovss") == 0);
    CHECK(count_of(*text, "vmovsd") == 0);
    CHECK(count_of(*text, target.has_masks ? "%zmm" : "%ymm") > 8);
  }
}
