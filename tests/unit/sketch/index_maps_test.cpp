// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/index_maps.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

constexpr auto looks_through_nothing = [](std::size_t) { return false; };

/// Of O[i] = A[index of i], i in 0 .. extent - 1.
template <class Index>
std::vector<std::int64_t> digits_of(std::int64_t extent, const Index& index) {
  te::Program p;
  auto a = p.placeholder("A", {100000});
  auto o = p.compute("O", {extent}, [&](te::Expr i) { return a(index(i)); });
  const State state = State::initial(p.dag({a, o}));
  return IndexMaps(state, 1, looks_through_nothing).digits(0);
}

}  // namespace

TEST_CASE("digits of an axis are what its quotients and remainders are by") {
  using List = std::vector<std::int64_t>;
  CHECK(digits_of(4096, [](te::Expr i) { return i; }).empty());
  CHECK(digits_of(4096, [](te::Expr i) { return i % 64 * 64 + i / 64; }) == List{64});
  CHECK(digits_of(4096, [](te::Expr i) { return te::floormod(i, 64) + te::floordiv(i, 16); }) ==
        List{4, 16});
  CHECK(digits_of(4096, [](te::Expr i) { return te::floormod(te::floordiv(i, 8), 4); }) ==
        List{4, 8});
  // 6 i and 10: i moves by 5 until both begin anew.
  CHECK(digits_of(4096, [](te::Expr i) { return te::floormod(i * 6 + 3, 10); }) == List{5});
  // 7 is no multiple of 2: digits to the least of them only.
  CHECK(digits_of(4096, [](te::Expr i) { return i / 2 + i % 7; }) == List{2});
  CHECK(digits_of(60, [](te::Expr i) { return i % 64; }).empty());
}

TEST_CASE("a step by the period changes an expression by a multiple of the modulus") {
  ExprPool pool;
  const VarId var = pool.new_var("x"), other = pool.new_var("y");
  const ExprId x = pool.var(var), y = pool.var(other);
  const auto num = [&](std::int64_t n) { return pool.int_imm(n); };
  const ExprId cases[] = {x,
                          pool.mul(x, num(6)),
                          pool.add(pool.mul(num(4), x), y),
                          pool.sub(pool.floordiv(x, num(3)), pool.floormod(x, num(5))),
                          pool.floormod(pool.floordiv(pool.add(x, y), num(2)), num(6)),
                          pool.cast(DType::i64, pool.mul(pool.floordiv(x, num(4)), num(2)))};
  const auto value = [&](const auto& self, ExprId id, std::int64_t at_x,
                         std::int64_t at_y) -> std::int64_t {
    if (const IntImm* imm = pool.as<IntImm>(id)) {
      return imm->value;
    }
    if (const VarRef* ref = pool.as<VarRef>(id)) {
      return ref->var == var ? at_x : at_y;
    }
    if (const Cast* cast = pool.as<Cast>(id)) {
      return self(self, cast->a, at_x, at_y);
    }
    const Binary* node = pool.as<Binary>(id);
    const std::int64_t a = self(self, node->a, at_x, at_y), b = self(self, node->b, at_x, at_y);
    return node->op == BinaryOp::add        ? a + b
           : node->op == BinaryOp::sub      ? a - b
           : node->op == BinaryOp::mul      ? a * b
           : node->op == BinaryOp::floordiv ? floor_div(a, b)
                                            : floor_mod(a, b);
  };
  for (ExprId id : cases) {
    for (std::int64_t modulus : {1, 2, 3, 4, 6, 12}) {
      const std::int64_t period = period_of(pool, id, var, modulus);
      REQUIRE(period > 0);
      for (std::int64_t at_x = 0; at_x < 40; ++at_x) {
        const std::int64_t moved = value(value, id, at_x + period, 1) - value(value, id, at_x, 1);
        CHECK(floor_mod(moved, modulus) == 0);
      }
    }
  }
  CHECK(period_of(pool, y, var, 7) == 1);
  CHECK(period_of(pool, pool.mul(x, y), var, 7) == 0);
}

TEST_CASE("reads are seen through producers, each place once, and strides are measured") {
  te::Program p;
  auto a = p.placeholder("A", {8, 16});
  auto t = p.compute("T", {16, 8}, [&](auto i, auto j) { return a(j, i); });
  auto o = p.compute("O", {128}, [&](auto i) { return t(i / 8, i % 8) + t(i / 8, i % 8); });
  const State state = State::initial(p.dag({a, o}));
  const IndexMaps direct(state, 2, looks_through_nothing);
  REQUIRE(direct.reads().size() == 1);
  CHECK(direct.stride(state, direct.reads()[0], 0, 1) == 1);
  const IndexMaps through(state, 2, [](std::size_t stage) { return stage == 1; });
  REQUIRE(through.reads().size() == 1);
  CHECK(through.is_complete());
  CHECK(state.dag().tensor(through.reads()[0].tensor).name == "A");
  CHECK(through.digits(0) == std::vector<std::int64_t>{8});
  CHECK(through.stride(state, through.reads()[0], 0, 1) == 16);
  CHECK(through.stride(state, through.reads()[0], 0, 8) == 1);
}

TEST_CASE("reads are shifted if they move alike") {
  te::Program p;
  auto a = p.placeholder("A", {9, 9});
  auto o = p.compute("O", {8, 8}, [&](auto i, auto j) {
    return a(i, j) + a(i + 1, j + 1) + a(i, te::Expr(0)) + a(j, i);
  });
  const State state = State::initial(p.dag({a, o}));
  const IndexMaps maps(state, 1, looks_through_nothing);
  REQUIRE(maps.reads().size() == 4);
  int num_shifted = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      num_shifted += maps.are_shifted(maps.reads()[i], maps.reads()[j]) ? 1 : 0;
    }
  }
  CHECK(num_shifted == 1);
}

TEST_CASE("a place that depends on data has no stride") {
  te::Program p;
  auto a = p.placeholder("A", {8}), o = a;
  auto n = p.placeholder("N", {4}, DType::i32);
  o = p.compute("O", {4}, [&](auto i) { return a(n(i)); });
  const State state = State::initial(p.dag({a, n, o}));
  const IndexMaps maps(state, 2, looks_through_nothing);
  REQUIRE(maps.reads().size() == 2);
  for (const IndexMaps::Read& read : maps.reads()) {
    const bool is_table = state.dag().tensor(read.tensor).name == "A";
    CHECK(maps.stride(state, read, 0, 1).has_value() == !is_table);
  }
}

}  // namespace tensorsmith
