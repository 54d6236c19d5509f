// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Choices by where an iteration stands: boundaries at vectors, and inside of them.
#include "codegen_fixture.hpp"
#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// for i: for jo: for ji (vectorized): out[i, jo, ji] = a nest of choices by j = jo * lanes + ji
/// and i, whose arms read rows of different strides up to the last element.
class Choices {
 public:
  Choices(CounterRng& rng, DType type) : rng_(rng), type_(type) {
    inner_ = 1 + below(40);
    outer_ = 1 + below(6);
    rows_ = 1 + below(4);
    out_ = m_.argument("out", type_, {rows_, outer_, inner_});
  }

  LoopProgram program() {
    const StmtId store = m_.store(out_, {m_.v(i_), m_.v(jo_), m_.v(ji_)}, choice(3, 0, j_end()));
    const StmtId row = m_.loop(ji_, inner_, ForKind::vectorized, store);
    m_.p.body = m_.loop(i_, rows_, ForKind::serial, m_.loop(jo_, outer_, ForKind::serial, row));
    return std::move(m_.p);
  }

 private:
  ExprPool& pool() { return m_.pool(); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng_.next_below(static_cast<std::uint32_t>(n)));
  }
  std::int64_t j_end() const { return outer_ * inner_; }
  ExprId j() { return pool().add(pool().mul(m_.v(jo_), m_.i(inner_)), m_.v(ji_)); }

  /// A read that exists for j in [begin, end) only.
  ExprId read(std::int64_t begin, std::int64_t end) {
    const std::int64_t stride = 1 + below(3), count = std::max<std::int64_t>(1, end - begin);
    const BufferId x =
        m_.argument("x" + std::to_string(num_++), type_, {rows_, (count - 1) * stride + 1});
    const ExprId place = pool().sub(j(), m_.i(begin));
    const bool is_backwards = below(3) == 0;
    const ExprId at = is_backwards ? pool().sub(m_.i(count - 1), place) : place;
    return m_.load(x, {m_.v(i_), pool().mul(at, m_.i(stride))});
  }
  ExprId choice(int depth, std::int64_t begin, std::int64_t end) {
    if (depth == 0 || end - begin < 2) {
      return pool().add(read(begin, end), read(begin, end));
    }
    std::int64_t at = begin + 1 + below(end - begin - 1);
    if (below(2) == 0) {  // where a vector begins
      at = std::clamp(at / 8 * 8, begin + 1, end - 1);
    }
    const ExprId before = choice(depth - 1, begin, at), behind = choice(depth - 1, at, end);
    switch (below(5)) {
    case 0:
      return pool().if_then_else(pool().lt(j(), m_.i(at)), before, behind);
    case 1:
      return pool().if_then_else(pool().binary(BinaryOp::le, j(), m_.i(at - 1)), before, behind);
    case 2:
      return pool().if_then_else(pool().binary(BinaryOp::gt, j(), m_.i(at - 1)), behind, before);
    case 3:
      return pool().if_then_else(pool().ge(m_.i(at - 1), j()), before, behind);
    default:
      return pool().if_then_else(pool().ge(pool().mul(j(), m_.i(2)), m_.i(2 * at)), behind, before);
    }
  }

  Maker m_;
  CounterRng& rng_;
  DType type_;
  std::int64_t inner_ = 1, outer_ = 1, rows_ = 1;
  int num_ = 0;
  BufferId out_;
  VarId i_ = m_.var("i"), jo_ = m_.var("jo"), ji_ = m_.var("ji");
};

}  // namespace

TEST_CASE("choices by position are what they are element by element", "[codegen]") {
  CounterRng rng(seed(), 97);
  const DType types[] = {DType::f32, DType::f64, DType::f16, DType::i32, DType::i8};
  for (std::uint32_t i = 0; i < scaled(80); ++i) {
    const LoopProgram program = Choices(rng, types[rng.next_below(5)]).program();
    INFO(i << "\n" << to_text(program));
    check_program(program, 1, true);
  }
}

TEST_CASE("a boundary between vectors costs no mask", "[codegen]") {
  // out[b, j] = 8 b + j < 64 ? x[2 (8 b + j)] : y[3 (8 b + j - 64)]
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId x = m.argument("x", DType::f32, {128}), y = m.argument("y", DType::f32, {192});
  const BufferId out = m.argument("out", DType::f32, {16, 8});
  const VarId b = m.var("b"), j = m.var("j");
  const ExprId at = pool.add(pool.mul(m.v(b), m.i(8)), m.v(j));
  const ExprId value = pool.if_then_else(pool.lt(at, m.i(64)), m.load(x, {pool.mul(at, m.i(2))}),
                                         m.load(y, {pool.mul(pool.sub(at, m.i(64)), m.i(3))}));
  m.p.body = m.loop(b, 16, ForKind::serial,
                    m.loop(j, 8, ForKind::vectorized, m.store(out, {m.v(b), m.v(j)}, value)));
  check_program(m.p, 1);
  const auto text = LlvmCompiler(Target::x86_64_v3(), {}).assembly(m.p);
  REQUIRE(text);
  CHECK(count_of(*text, "vinsertps") == 0);
  CHECK(count_of(*text, "vpcmpgtd") == 0);
}
