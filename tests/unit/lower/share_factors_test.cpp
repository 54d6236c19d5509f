// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/share_factors.hpp"

#include "support/catch.hpp"

namespace tensorsmith::detail {
namespace {

struct Tile {
  ExprPool pool;
  VarId row = pool.new_var("i"), lane = pool.new_var("r"), step = pool.new_var("k");
  std::vector<TileLoop> loops{{{row}, 8}, {{lane}, 32}};
  ExprId load(std::uint32_t buffer, ExprList indices, DType type = DType::f32) {
    return pool.load(BufferId{buffer}, type, std::move(indices));
  }
};

}  // namespace

TEST_CASE("what the rows of a tile share is multiplied first") {
  Tile t;
  const ExprId i = t.pool.var(t.row), r = t.pool.var(t.lane), k = t.pool.var(t.step);
  const ExprId x = t.load(0, {i, k}), b = t.load(1, {r}), c = t.load(2, {k, r});
  const ExprId written = t.pool.mul(t.pool.mul(x, b), c);
  CHECK(share_factors(t.pool, written, t.loops) == t.pool.mul(x, t.pool.mul(b, c)));
  const ExprId z = t.load(3, {i});
  const ExprId rows = t.pool.mul(t.pool.mul(x, b), z);
  CHECK(share_factors(t.pool, rows, t.loops) == t.pool.mul(t.pool.mul(x, z), b));
}

TEST_CASE("the order stays where none is better, of two factors and of integers") {
  Tile t;
  const ExprId i = t.pool.var(t.row), r = t.pool.var(t.lane);
  const ExprId x = t.load(0, {i, r}), y = t.load(1, {i, r}), z = t.load(2, {i, r});
  const ExprId alike = t.pool.mul(t.pool.mul(x, y), z);
  CHECK(share_factors(t.pool, alike, t.loops) == alike);
  const ExprId two = t.pool.mul(t.load(0, {i}), t.load(1, {r}));
  CHECK(share_factors(t.pool, two, t.loops) == two);
  const auto whole = [&](std::uint32_t buffer, ExprId at) {
    return t.load(buffer, {at}, DType::i32);
  };
  const ExprId integers = t.pool.mul(t.pool.mul(whole(0, i), whole(1, r)), whole(2, r));
  CHECK(share_factors(t.pool, integers, t.loops) == integers);
}

TEST_CASE("products of products of products stay as they are") {
  Tile t;
  ExprId power = t.load(0, {t.pool.var(t.row)});
  for (int i = 0; i < 60; ++i) {
    power = t.pool.mul(power, power);  // 2^60 factors
  }
  CHECK(share_factors(t.pool, power, t.loops) == power);
  const ExprList factors = factors_of_product(t.pool, power, 32);
  REQUIRE(factors.size() == 1);
  CHECK(factors[0] == power);
}

}  // namespace tensorsmith::detail
