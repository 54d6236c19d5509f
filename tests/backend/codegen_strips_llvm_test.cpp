// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Vectorized loops whose chains of operations are put side by side, and loops that are known to
// run.
#include "codegen_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// if (from <= j && j < to) out[j] = exp(a[j]): strips of lanes that do nothing, all or some of
/// them.
LoopProgram guarded_program(std::int64_t columns, std::int64_t from, std::int64_t to) {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {columns});
  const BufferId out = m.argument("out", DType::f32, {columns});
  const VarId j = m.var("j");
  const ExprId inside = pool.and_(pool.binary(BinaryOp::le, m.i(from), m.v(j)),
                                  pool.binary(BinaryOp::lt, m.v(j), m.i(to)));
  const StmtId store = m.store(out, {m.v(j)}, pool.call(CallOp::exp, {m.load(a, {m.v(j)})}));
  m.p.body = m.loop(j, columns, ForKind::vectorized, m.branch(inside, store));
  return std::move(m.p);
}

/// out[i, j] = exp((a[i, j] - m[i]) * 0.125) * b[j], in vectors along j; `is_in_place`: b is out.
LoopProgram chain_program(std::int64_t rows, std::int64_t columns, bool is_in_place = false) {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {rows, columns});
  const BufferId most = m.argument("m", DType::f32, {rows});
  const BufferId b = m.argument("b", DType::f32, {columns});
  const BufferId out = m.argument("out", DType::f32, {rows, columns});
  const VarId i = m.var("i"), j = m.var("j");
  const ExprList at = {m.v(i), m.v(j)};
  const ExprId x = pool.mul(pool.sub(m.load(a, at), m.load(most, {m.v(i)})), m.f(0.125));
  const ExprId factor = is_in_place ? m.load(out, at) : m.load(b, {m.v(j)});
  const StmtId store = m.store(out, at, pool.mul(pool.call(CallOp::exp, {x}), factor));
  m.p.body = m.loop(i, rows, ForKind::serial, m.loop(j, columns, ForKind::vectorized, store));
  return std::move(m.p);
}

/// out[j] = exp(a[index[j]]) * b[index[j]], addresses that a chain computes.
LoopProgram gather_program(std::int64_t columns) {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {9});
  const BufferId b = m.argument("b", DType::f32, {9});
  const BufferId index = m.argument("index", DType::u8, {columns});
  const BufferId out = m.argument("out", DType::f32, {columns});
  const VarId j = m.var("j");
  const ExprList at = {pool.cast(DType::i64, m.load(index, {m.v(j)}))};
  const ExprId value =
      pool.mul(pool.call(CallOp::exp, {m.load(a, at)}), pool.call(CallOp::exp, {m.load(b, at)}));
  m.p.body = m.loop(j, columns, ForKind::vectorized, m.store(out, {m.v(j)}, value));
  return std::move(m.p);
}

/// sum[l] over k of exp(a[k, l]), the partial sums of a row in registers.
LoopProgram sum_program(std::int64_t steps, std::int64_t lanes) {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", DType::f32, {steps, lanes});
  const BufferId sum = m.argument("sum", DType::f32, {lanes});
  const BufferId acc = m.buffer("acc", DType::f32, {lanes}, Scope::register_);
  const VarId k = m.var("k"), l = m.var("l");
  const auto each_lane = [&](BufferId to, ExprId value) {
    return m.loop(l, lanes, ForKind::vectorized, m.store(to, {m.v(l)}, value));
  };
  const ExprId term = pool.call(CallOp::exp, {m.load(a, {m.v(k), m.v(l)})});
  const ExprId old = m.load(acc, {m.v(l)});
  m.p.body =
      m.alloc(acc, m.seq({each_lane(acc, m.f(0.0)),
                          m.loop(k, steps, ForKind::serial, each_lane(acc, pool.add(old, term))),
                          each_lane(sum, old)}));
  return std::move(m.p);
}

/// for i in rows: for j in min(longest - 2 i, 5): out[i, j] = 100 i + j
LoopProgram ragged_program(std::int64_t rows, std::int64_t longest) {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId out = m.argument("out", DType::i32, {rows, 9});
  const VarId i = m.var("i"), j = m.var("j");
  const ExprId extent = pool.min(pool.sub(m.i(longest), pool.mul(m.v(i), m.i(2))), m.i(5));
  const ExprId value = pool.add(pool.mul(m.v(i), m.i(100)), m.v(j));
  m.p.body = m.loop(i, rows, ForKind::serial,
                    m.loop(j, extent, ForKind::serial, m.store(out, {m.v(i), m.v(j)}, value)));
  return std::move(m.p);
}

}  // namespace

TEST_CASE("chains side by side compute what they compute one after the other", "[codegen]") {
  for (const std::int64_t columns : {16, 31, 32, 48, 64, 75, 128, 200, 333}) {
    INFO(columns << " columns");
    check_program(chain_program(3, columns));
    check_program(chain_program(2, columns, true));
    check_program(sum_program(5, columns));
    check_program(gather_program(columns));
  }
}

TEST_CASE("strips of which some do nothing", "[codegen]") {
  for (const std::int64_t to : {0, 16, 20, 32, 48, 64}) {
    for (const std::int64_t from : {0, 16, 32}) {
      INFO("from " << from << " to " << to);
      check_program(guarded_program(64, from, to));
    }
  }
}

TEST_CASE("four vectors of a chain stand side by side", "[codegen]") {
  LlvmCompiler compiler(Target::x86_64_v4());
  const auto text = compiler.assembly(chain_program(4, 64));
  REQUIRE(text);
  const std::size_t first_end = text->find("vscalefps");
  REQUIRE(first_end != std::string::npos);
  CHECK(count_of(text->substr(0, first_end), "vpermps") == 4);
  CHECK(count_of(*text, "vscalefps") == 4);
  CHECK(count_of(*text, "vbroadcastss\t(") == 1);  // m[i], which they share
}

TEST_CASE("a loop that always runs is entered without a question", "[codegen]") {
  LlvmCompiler compiler(Target::x86_64_v4(), LlvmOptions{.is_serial = true});
  const auto num_questions = [&](std::int64_t rows, std::int64_t longest) {
    const auto text = compiler.llvm_ir(ragged_program(rows, longest));
    REQUIRE(text);
    return count_of(*text, "br i1");
  };
  CHECK(num_questions(4, 7) == 2);  // the last row has one element
  CHECK(num_questions(4, 6) == 3);  // it has none
  check_program(ragged_program(4, 7));
  check_program(ragged_program(4, 6));
  check_program(ragged_program(5, 6));
}

TEST_CASE("loops that share a variable know the longest of them", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId out = m.argument("out", DType::i32, {2, 6, 6});
  const VarId i = m.var("i"), j = m.var("j");
  const auto nest = [&](std::int64_t which, std::int64_t rows, std::int64_t longest) {
    const StmtId store =
        m.store(out, {m.i(which), m.v(i), m.v(j)}, pool.add(m.v(i), pool.mul(m.v(j), m.i(10))));
    return m.loop(i, rows, ForKind::serial,
                  m.loop(j, pool.sub(m.i(longest), m.v(i)), ForKind::serial, store));
  };
  m.p.body = m.seq({nest(0, 3, 3), nest(1, 6, 4)});
  check_program(m.p);
}
