// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/rewrite.hpp"

#include "support/catch.hpp"
#include "support/random_expr.hpp"

using namespace tensorsmith;

TEST_CASE("a rewrite that changes nothing returns the same id and adds nothing") {
  for (std::uint32_t n = 0; n < 500; ++n) {
    CounterRng rng(test::seed(), 21, n);
    ExprPool pool;
    test::RandomExprs random(pool, rng);
    const ExprId id = random.any(4);
    const std::uint32_t before = pool.num_exprs();
    CAPTURE(test::seed(), n);
    CHECK(map_children(pool, id, [](ExprId child) { return child; }) == id);
    CHECK(Substitution()(pool, id) == id);
    CHECK(pool.num_exprs() == before);
  }
}

TEST_CASE("substitution is simultaneous") {
  ExprPool pool;
  const VarId i = pool.new_var("i"), j = pool.new_var("j");
  Substitution swap;
  swap.set(i, pool.var(j));
  swap.set(j, pool.var(i));
  CHECK(swap(pool, pool.sub(pool.var(i), pool.var(j))) == pool.sub(pool.var(j), pool.var(i)));
  swap.set(i, pool.int_imm(3));
  CHECK(swap(pool, pool.var(i)) == pool.int_imm(3));
}

TEST_CASE("substitution gives the value at the substituted point") {
  for (std::uint32_t n = 0; n < 500; ++n) {
    CounterRng rng(test::seed(), 22, n);
    ExprPool pool;
    test::RandomExprs random(pool, rng);
    const ExprId id = random.expr(DType::i32, 3, true);
    const VarId i = random.vars()[0], j = random.vars()[1];
    Substitution substitution;
    substitution.set(i, pool.add(pool.var(j), pool.int_imm(2)));
    const ExprId replaced = substitution(pool, id);
    CAPTURE(test::seed(), n);
    CHECK(!uses_var(pool, replaced, i));
    std::vector<Scalar> at = random.point(), moved = at;
    moved[i.value] = scalar_of(at[j.value].integer + 2);
    const auto expected = test::ExprValue{pool, moved}(id);
    const auto found = test::ExprValue{pool, at}(replaced);
    CHECK(expected.has_value() == found.has_value());
    if (expected && found) {
      CHECK(expected->integer == found->integer);
    }
  }
}

TEST_CASE("children come left to right, operands before the node") {
  ExprPool pool;
  const ExprId a = pool.int_imm(1), b = pool.int_imm(2), sum = pool.add(a, b);
  std::vector<ExprId> seen;
  visit_expr(pool, pool.mul(sum, a), [&](ExprId id) { seen.push_back(id); });
  CHECK(seen == std::vector<ExprId>{a, b, sum, a, pool.mul(sum, a)});
}

namespace {

/// x(n) = x(n-1) * x(n-1) + 1: 2^n paths, 2n + 2 nodes.
ExprId squared_often(ExprPool& pool, ExprId x, int times) {
  for (int n = 0; n < times; ++n) {
    x = pool.add(pool.mul(x, x), pool.float_imm(1));
  }
  return x;
}

}  // namespace

TEST_CASE("walks of shared expressions take as long as they have nodes") {
  ExprPool pool;
  const VarId i = pool.new_var("i");
  const ExprId read = pool.load(BufferId{0}, DType::f32, {pool.var(i)});
  const ExprId deep = squared_often(pool, read, 60);
  std::size_t num_nodes = 0;
  visit_nodes(pool, deep, [&](ExprId) { ++num_nodes; });
  CHECK(num_nodes == 2 * 60 + 3);  // the load, its index, the constant
  CHECK(uses_var(pool, deep, i));
  CHECK_FALSE(uses_var(pool, deep, pool.new_var("j")));
  CHECK(has_load(pool, deep));
  CHECK_FALSE(has_choice(pool, deep));
  double reads = 0, additions = 0;
  visit_paths(pool, deep, [&](ExprId id, double paths) {
    reads += pool.as<Load>(id) != nullptr ? paths : 0;
    const Binary* binary = pool.as<Binary>(id);
    additions += binary != nullptr && binary->op == BinaryOp::add ? paths : 0;
  });
  CHECK(reads == 0x1p60);
  CHECK(additions == 0x1p60 - 1);
}

TEST_CASE("nodes and paths are counted as a walk of all paths counts them") {
  for (std::uint32_t n = 0; n < 200; ++n) {
    CounterRng rng(test::seed(), 23, n);
    ExprPool pool;
    test::RandomExprs random(pool, rng);
    const ExprId id = random.expr(DType::i32, 3, true);
    std::vector<double> expected(pool.num_exprs(), 0), paths(pool.num_exprs(), 0);
    visit_expr(pool, id, [&](ExprId node) { expected[node.value] += 1; });
    visit_paths(pool, id, [&](ExprId node, double count) { paths[node.value] += count; });
    CAPTURE(test::seed(), n);
    CHECK(paths == expected);
  }
}
